/** The credentials of a client. Files are read again when they may have been rotated; there is no polling. */
import type { Clock } from '#apimachinery/clock.js';
import {
  CertificateFiles,
  type CertificateFilesOptions,
  type CertificateMaterial,
  type ReadFile,
  readFromDisk,
} from '#daemon/certificates/certificate-files.js';

/** A bearer token that may change. */
export interface TokenSource {
  /** Empty: there is none at the moment, and no header is sent. */
  token(): Promise<string>;
  /** The server refused the token: the next call must not return a cached one. */
  invalidate(): void;
}

export type TlsMaterial = CertificateMaterial;

/** TLS material that may change; the same object again means that nothing changed. */
export interface TlsSource {
  current(): Promise<TlsMaterial>;
  /** The server refused the certificate: the next call must not return a cached one. */
  invalidate?(): void;
}

export function staticToken(token: string): TokenSource {
  return { token: () => Promise.resolve(token), invalidate() {} };
}

/** How long a file's content is trusted before it is read again (client-go re-reads token files every minute). */
const fileFreshMs = 60_000;

/** A token in a file that is rotated from outside. */
export class FileToken implements TokenSource {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #readFile: ReadFile;
  #token: string | undefined;
  #readAt = 0;

  constructor(options: { path: string; clock: Clock; readFile?: ReadFile }) {
    this.#path = options.path;
    this.#clock = options.clock;
    this.#readFile = options.readFile ?? readFromDisk;
  }

  /** Rejects when the file cannot be read and no earlier token is known, or when it is empty. */
  async token(): Promise<string> {
    const now = this.#clock.monotonic();
    if (this.#token !== undefined && now - this.#readAt < fileFreshMs) return this.#token;
    const previous = this.#token;
    try {
      const token = (await this.#readFile(this.#path)).toString('utf8').trim();
      if (token === '') throw new Error(`read empty token from file ${JSON.stringify(this.#path)}`);
      this.#token = token;
      this.#readAt = now;
      return token;
    } catch (error) {
      // In the middle of a rotation the file may be missing; the old token is most likely still good.
      if (previous !== undefined) return previous;
      throw error;
    }
  }

  invalidate(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }
}

export function staticTls(material: TlsMaterial): TlsSource {
  return { current: () => Promise.resolve(material) };
}

/** TLS material whose parts are given inline or in files that are rotated from outside. */
export class FileTls implements TlsSource {
  readonly #files: CertificateFiles;
  readonly #clock: Clock;
  readonly #freshMs: number;
  #readAt = Number.NEGATIVE_INFINITY;

  /** `freshMs`: how long what was read is trusted; a minute unless told. */
  constructor({
    clock,
    freshMs = fileFreshMs,
    ...files
  }: CertificateFilesOptions & { readonly clock: Clock; readonly freshMs?: number }) {
    this.#files = new CertificateFiles(files);
    this.#clock = clock;
    this.#freshMs = freshMs;
  }

  async current(): Promise<TlsMaterial> {
    const now = this.#clock.monotonic();
    const { last } = this.#files;
    if (last !== undefined && now - this.#readAt < this.#freshMs) return last;
    try {
      const material = await this.#files.read();
      this.#readAt = now;
      return material;
    } catch (error) {
      if (last !== undefined) return last;
      throw error;
    }
  }

  invalidate(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }
}
