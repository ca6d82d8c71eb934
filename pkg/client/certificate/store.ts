/**
 * Stores a daemon's renewable certificate: each in a file with its key; the link `<name>-current.pem` leads to the one in
 * use. The key of a pending request is stored beside them.
 */
import { mkdir, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { certificatesInPem, decodePem, encodePem } from '#apimachinery/asn1/pem.js';
import type { KeyCertificate } from '#pki/certificate.js';
import { writeFileAtomic } from '#pki/file-store.js';

/** Number of old certificates kept for inspection. */
const keptFiles = 3;

export class CertificateStore {
  readonly #directory: string;
  readonly #name: string;

  /** `name`: prefix of the files. The directory is created by the first write. */
  constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#name = name;
  }

  /** Path of the link to the current certificate and key. */
  get currentFile(): string {
    return join(this.#directory, `${this.#name}-current.pem`);
  }

  get #pendingKeyFile(): string {
    return join(this.#directory, `${this.#name}.key.tmp`);
  }

  /** Undefined if there is none. Rejects with file system errors, and if the file lacks certificate or key. */
  async current(): Promise<KeyCertificate | undefined> {
    const text = await readIfExists(this.currentFile);
    return text === undefined ? undefined : parsePair(text, this.currentFile);
  }

  /** Atomic: after a crash the old or the new one is current. `nowMs` becomes part of the file name. */
  async update({ certificate, privateKey }: KeyCertificate, nowMs: number): Promise<void> {
    await this.#makeDirectory();
    const stamp = new Date(nowMs).toISOString().slice(0, 19).replace(/[T:]/g, '-');
    const file = join(this.#directory, `${this.#name}-${stamp}.pem`);
    await writeFileAtomic(file, withNewline(certificate) + withNewline(privateKey), 0o600);
    const link = join(this.#directory, `${this.#name}-updated.pem`);
    await rm(link, { force: true });
    await symlink(file, link);
    await rename(link, this.currentFile);
    await this.#removeOld();
  }

  async pendingKey(): Promise<string | undefined> {
    return readIfExists(this.#pendingKeyFile);
  }

  async keepPendingKey(privateKey: string): Promise<void> {
    await this.#makeDirectory();
    await writeFileAtomic(this.#pendingKeyFile, privateKey, 0o600);
  }

  async forgetPendingKey(): Promise<void> {
    await rm(this.#pendingKeyFile, { force: true });
  }

  async #makeDirectory(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
  }

  async #removeOld(): Promise<void> {
    const inUse = basename(await readlink(this.currentFile));
    const dated = new RegExp(`^${this.#name}-\\d{4}(-\\d\\d){5}\\.pem$`);
    const others = (await readdir(this.#directory)).filter((file) => dated.test(file) && file !== inUse).sort();
    for (const file of others.slice(0, -keptFiles)) await rm(join(this.#directory, file), { force: true });
  }
}

function withNewline(pem: string): string {
  return pem.endsWith('\n') ? pem : `${pem}\n`;
}

async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function parsePair(text: string, path: string): KeyCertificate {
  const certificates = certificatesInPem(text);
  const key = decodePem(text).find(({ label }) => label.endsWith('PRIVATE KEY'));
  if (certificates.length === 0 || key === undefined)
    throw new Error(`${path} has no certificate with its private key`);
  return {
    certificate: certificates.map((der) => encodePem('CERTIFICATE', der)).join(''),
    privateKey: encodePem(key.label, key.der),
  };
}
