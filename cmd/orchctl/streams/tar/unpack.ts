/**
 * Unpacks a tar archive that comes out of a container, which is not trusted: nothing is written outside of the destination,
 * and links are skipped, so that no later entry can be written through one.
 */
import { closeSync, constants, lstatSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import {
  blockSize,
  padding,
  parseHeader,
  paxRecords,
  TarError,
  type TarHeader,
} from '#cmd/orchctl/streams/tar/header.js';

/** Longest header of names. */
const maxNames = 1024 * 1024;

export interface UnpackOptions {
  /** Beginning of every name in the archive; it is replaced by the destination. */
  readonly prefix: string;
  readonly destination: string;
  readonly warn: (text: string) => void;
}

/** What the bytes behind a header are for. */
type Content =
  | { readonly kind: 'file'; readonly descriptor: number }
  | { readonly kind: 'names'; readonly type: string; readonly parts: Buffer[] }
  | { readonly kind: 'none' };

export class Unpacker {
  readonly #options: UnpackOptions;
  /** Bytes that make no whole block yet. */
  #rest: Buffer = Buffer.alloc(0);
  #content: Content = { kind: 'none' };
  /** Bytes of the content that are still to come, and of the padding behind it. */
  #open = 0;
  #padding = 0;
  #isOver = false;
  #names: ReadonlyMap<string, string> = new Map();
  /** Entries that were written. */
  count = 0;

  constructor(options: UnpackOptions) {
    this.#options = options;
  }

  /** Takes the next bytes and writes at once, so that no more than these are held. Throws a TarError. */
  write(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = Buffer.alloc(0);
    while (bytes.length > 0 && !this.#isOver) {
      if (this.#open > 0) {
        const part = bytes.subarray(0, this.#open);
        this.#take(part);
        bytes = bytes.subarray(part.length);
        this.#open -= part.length;
        if (this.#open === 0) this.#finish();
      } else if (this.#padding > 0) {
        const size = Math.min(this.#padding, bytes.length);
        bytes = bytes.subarray(size);
        this.#padding -= size;
      } else if (bytes.length < blockSize) {
        this.#rest = Buffer.from(bytes);
        return;
      } else {
        this.#begin(parseHeader(bytes.subarray(0, blockSize)));
        bytes = bytes.subarray(blockSize);
      }
    }
  }

  /** Throws a TarError if the archive ended in the middle of an entry. */
  end(): void {
    if (this.#content.kind === 'file') closeSync(this.#content.descriptor);
    if (!this.#isOver && (this.#open > 0 || this.#rest.length > 0)) throw new TarError('unexpected EOF');
  }

  #begin(header: TarHeader | undefined): void {
    if (header === undefined) {
      this.#isOver = true;
      return;
    }
    this.#open = header.size;
    this.#padding = padding(header.size);
    if (header.type === 'x' || header.type === 'L') {
      if (header.size > maxNames) throw new TarError('tar contents corrupted');
      this.#content = { kind: 'names', type: header.type, parts: [] };
    } else if (header.type === 'g') this.#content = { kind: 'none' };
    else {
      this.#content = this.#entry({ ...header, name: this.#names.get('path') ?? header.name });
      this.#names = new Map();
    }
    if (this.#open === 0) this.#finish();
  }

  #entry(header: TarHeader): Content {
    const { prefix, destination, warn } = this.#options;
    if (!header.name.startsWith(prefix)) throw new TarError('tar contents corrupted');
    const path = normalize(join(destination, header.name.slice(prefix.length)));
    if (!isInside(destination, path)) {
      warn(`warning: file ${JSON.stringify(path)} is outside target destination, skipping\n`);
      return { kind: 'none' };
    }
    if (header.type === '1' || header.type === '2') {
      warn(`warning: skipping symlink: ${JSON.stringify(path)} -> ${JSON.stringify(header.linkName)}\n`);
      return { kind: 'none' };
    }
    if (header.type === '5') {
      makeFolder(destination, path);
      return { kind: 'none' };
    }
    if (header.type !== '0') return { kind: 'none' };
    makeFolder(destination, dirname(path));
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    this.count += 1;
    return { kind: 'file', descriptor: openSync(path, flags, header.mode & 0o777 || 0o644) };
  }

  #take(part: Buffer): void {
    if (this.#content.kind === 'file') {
      for (let at = 0; at < part.length; ) at += writeSync(this.#content.descriptor, part, at);
    } else if (this.#content.kind === 'names') this.#content.parts.push(Buffer.from(part));
  }

  #finish(): void {
    const content = this.#content;
    this.#content = { kind: 'none' };
    if (content.kind === 'file') closeSync(content.descriptor);
    if (content.kind !== 'names') return;
    const bytes = Buffer.concat(content.parts);
    this.#names =
      content.type === 'x' ? paxRecords(bytes) : new Map([['path', bytes.toString('utf8').replace(/\0+$/, '')]]);
  }
}

function isInside(folder: string, path: string): boolean {
  const between = relative(folder, path);
  return between === '' || !(between === '..' || between.startsWith(`..${sep}`) || between.startsWith('/'));
}

/** Makes folders below the destination, and refuses links among them. */
function makeFolder(destination: string, folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  for (let each = folder; isInside(destination, each) && each !== normalize(destination); each = dirname(each)) {
    if (lstatSync(each).isSymbolicLink()) throw new TarError(`${JSON.stringify(each)} is a symbolic link`);
  }
}
