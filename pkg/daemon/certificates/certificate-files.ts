/**
 * Certificates, keys and bundles of authorities in files that somebody else replaces while they are in use.
 *
 * Certificate and key are two files, which nobody can replace in one step. Whoever reads between the two steps sees that
 * they do not belong together, and reads again.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile as readFileFromDisk } from 'node:fs/promises';

export type ReadFile = (path: string) => Promise<Buffer>;

export const readFromDisk: ReadFile = (path) => readFileFromDisk(path);

/** Certificates and keys in PEM. */
export interface CertificateMaterial {
  readonly ca?: Buffer | string | undefined;
  readonly cert?: Buffer | string | undefined;
  readonly key?: Buffer | string | undefined;
}

export interface CertificateFilesOptions {
  /** Paths. */
  readonly files: {
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
  };
  /** Parts that no file is named for. */
  readonly inline?: CertificateMaterial | undefined;
  readonly readFile?: ReadFile | undefined;
}

/** Writers need a moment between their two steps; a pair that has not become one by then is none. */
const maxReads = 5;

export class CertificateFiles {
  readonly #options: CertificateFilesOptions;
  #last: CertificateMaterial | undefined;

  constructor(options: CertificateFilesOptions) {
    this.#options = options;
  }

  /** What was read last; undefined before the first time. */
  get last(): CertificateMaterial | undefined {
    return this.#last;
  }

  /**
   * What the files hold now: the same object as the last time when nothing has changed. Rejects when one cannot be read,
   * when one of certificate and key is empty, or they do not belong together although those of the last time did.
   */
  async read(): Promise<CertificateMaterial> {
    for (let reads = 1; ; reads++) {
      // One after the other: of several files that cannot be read, the same one is named every time.
      const ca = await this.#part('ca');
      const cert = await this.#part('cert');
      const key = await this.#part('key');
      // Not the one of before reading: others may have read meanwhile, and all must get the same object.
      const last = this.#last;
      if (last !== undefined && same(last.ca, ca) && same(last.cert, cert) && same(last.key, key)) return last;
      const empty = this.#emptyFile({ cert, key });
      if (empty !== undefined) {
        if (reads < maxReads) continue;
        throw new Error(`${empty} is empty`);
      }
      if (!belongTogether(cert, key)) {
        if (reads < maxReads) continue;
        // At first there is nothing better; TLS says what is wrong with it.
        if (last !== undefined) throw new Error(`${this.#options.files.key} is not the key of the certificate`);
      }
      this.#last = { ca, cert, key };
      return this.#last;
    }
  }

  /** As `read`, but what was read before where that fails. */
  async readOrLast(): Promise<CertificateMaterial> {
    try {
      return await this.read();
    } catch (error) {
      if (this.#last !== undefined) return this.#last;
      throw error;
    }
  }

  /** One that somebody is just writing. TLS would take its certificate or key for none, and refuse every handshake. */
  #emptyFile({ cert, key }: CertificateMaterial): string | undefined {
    const { files } = this.#options;
    if (cert?.length === 0) return files.cert;
    return key?.length === 0 ? files.key : undefined;
  }

  async #part(name: 'ca' | 'cert' | 'key'): Promise<Buffer | string | undefined> {
    const { files, inline = {}, readFile = readFromDisk } = this.#options;
    const path = files[name];
    return path === undefined ? inline[name] : readFile(path);
  }
}

/** False where the key is surely another certificate's. What cannot be read is for TLS to judge. */
function belongTogether(certificate: Buffer | string | undefined, key: Buffer | string | undefined): boolean {
  if (certificate === undefined || key === undefined) return true;
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return true;
  }
}

function same(a: Buffer | string | undefined, b: Buffer | string | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.toString() === b.toString());
}
