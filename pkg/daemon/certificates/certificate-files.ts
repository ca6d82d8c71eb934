/**
 * Reads certificates, keys and CA bundles from files that other programs replace while they are in use.
 *
 * Certificate and key are two files and cannot be replaced in one step. A read between the two steps sees a mismatch
 * and is repeated.
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
  /** Parts that have no file. */
  readonly inline?: CertificateMaterial | undefined;
  readonly readFile?: ReadFile | undefined;
}

/** Reads before a mismatched certificate and key are an error: a writer needs a moment between its two steps. */
const maxReads = 5;

export class CertificateFiles {
  readonly #options: CertificateFilesOptions;
  #last: CertificateMaterial | undefined;

  constructor(options: CertificateFilesOptions) {
    this.#options = options;
  }

  /** Result of the last successful read; undefined before the first. */
  get last(): CertificateMaterial | undefined {
    return this.#last;
  }

  /**
   * Reads the files. Returns the previous object if nothing changed. Rejects if a file cannot be read, if certificate
   * or key is empty, or if they do not match and an earlier pair did.
   */
  async read(): Promise<CertificateMaterial> {
    for (let reads = 1; ; reads++) {
      // Read in sequence, so that the error always names the same file.
      const ca = await this.#part('ca');
      const cert = await this.#part('cert');
      const key = await this.#part('key');
      // Taken after the reads: concurrent calls must all return the same object.
      const last = this.#last;
      if (last !== undefined && same(last.ca, ca) && same(last.cert, cert) && same(last.key, key)) return last;
      const empty = this.#emptyFile({ cert, key });
      if (empty !== undefined) {
        if (reads < maxReads) continue;
        throw new Error(`${empty} is empty`);
      }
      if (!belongTogether(cert, key)) {
        if (reads < maxReads) continue;
        // The first pair has no fallback; TLS reports what is wrong with it.
        if (last !== undefined) throw new Error(`${this.#options.files.key} is not the key of the certificate`);
      }
      this.#last = { ca, cert, key };
      return this.#last;
    }
  }

  /** Like `read`, but returns the previous material when reading fails. */
  async readOrLast(): Promise<CertificateMaterial> {
    try {
      return await this.read();
    } catch (error) {
      if (this.#last !== undefined) return this.#last;
      throw error;
    }
  }

  /** The path of an empty file, which is still being written. TLS would ignore it and refuse every handshake. */
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

/** False if the key certainly belongs to another certificate. Unreadable PEM is left to TLS. */
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
