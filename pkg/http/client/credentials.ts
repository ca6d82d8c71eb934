/** A client's credentials. Files are read again when they may have been rotated, without polling. */
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
  /** Resolves with an empty text if there is no token; no header is sent then. */
  token(): Promise<string>;
  /** The server refused the token: the next call must not return it from the cache. */
  invalidate(): void;
}

export type TlsMaterial = CertificateMaterial;

/** TLS material that may change. The same object means that nothing changed. */
export interface TlsSource {
  current(): Promise<TlsMaterial>;
  /** The server refused the certificate: the next call must not return it from the cache. */
  invalidate?(): void;
}

export function staticToken(token: string): TokenSource {
  return { token: () => Promise.resolve(token), invalidate() {} };
}

/** How long file content is trusted; client-go re-reads token files every minute. */
const fileFreshMs = 60_000;

/** A token in a file that another program rotates. */
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

  /** Rejects if the file is unreadable without an earlier token, or empty. */
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
      // The file may be absent during a rotation; the old token is probably still valid.
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

/** TLS material from inline data or from files that another program rotates. */
export class FileTls implements TlsSource {
  readonly #files: CertificateFiles;
  readonly #clock: Clock;
  readonly #freshMs: number;
  #readAt = Number.NEGATIVE_INFINITY;

  /** `freshMs`: how long file content is trusted; default one minute. */
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
