/** The credentials of a client. Files are read again when they may have been rotated; there is no polling. */
import { readFile as readFileFromDisk } from 'node:fs/promises';
import type { Clock } from '#apimachinery/clock.js';

export type ReadFile = (path: string) => Promise<Buffer>;

export const readFromDisk: ReadFile = (path) => readFileFromDisk(path);

/** A bearer token that may change. */
export interface TokenSource {
  /** Empty: there is none at the moment, and no header is sent. */
  token(): Promise<string>;
  /** The server refused the token: the next call must not return a cached one. */
  invalidate(): void;
}

/** Certificates and keys in PEM. */
export interface TlsMaterial {
  readonly ca?: Buffer | string | undefined;
  readonly cert?: Buffer | string | undefined;
  readonly key?: Buffer | string | undefined;
}

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

/** A token in a file that somebody else rotates. */
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

/** TLS material whose parts are given inline or in files that somebody else rotates. */
export class FileTls implements TlsSource {
  readonly #inline: TlsMaterial;
  readonly #files: {
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
  };
  readonly #clock: Clock;
  readonly #readFile: ReadFile;
  #material: TlsMaterial | undefined;
  #readAt = 0;

  constructor(options: {
    inline?: TlsMaterial;
    files: { ca?: string | undefined; cert?: string | undefined; key?: string | undefined };
    clock: Clock;
    readFile?: ReadFile;
  }) {
    this.#inline = options.inline ?? {};
    this.#files = options.files;
    this.#clock = options.clock;
    this.#readFile = options.readFile ?? readFromDisk;
  }

  async current(): Promise<TlsMaterial> {
    const now = this.#clock.monotonic();
    const known = this.#material;
    if (known !== undefined && now - this.#readAt < fileFreshMs) return known;
    try {
      // One after the other: of several files that cannot be read, the same one is named every time.
      const ca = await this.#part('ca');
      const cert = await this.#part('cert');
      const key = await this.#part('key');
      this.#readAt = now;
      // Not `known`: others may have read meanwhile, and all must get the same object.
      const last = this.#material;
      if (last !== undefined && same(last.ca, ca) && same(last.cert, cert) && same(last.key, key)) return last;
      this.#material = { ca, cert, key };
      return this.#material;
    } catch (error) {
      if (known !== undefined) return known;
      throw error;
    }
  }

  invalidate(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }

  async #part(name: 'ca' | 'cert' | 'key'): Promise<Buffer | string | undefined> {
    const path = this.#files[name];
    return path === undefined ? this.#inline[name] : await this.#readFile(path);
  }
}

function same(a: Buffer | string | undefined, b: Buffer | string | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.toString() === b.toString());
}
