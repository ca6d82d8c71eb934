/**
 * Gzipped lists, compressed in blocks: a block is reused as long as its objects stay the same.
 *
 * A list is one gzip member. Its blocks are compressed separately, each to a byte boundary, so they can be joined in any
 * order; the checksum of the whole is computed from theirs. The keys of objects decide where blocks begin, so a change
 * recompresses one block and leaves the later ones alone.
 */

import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';
import { combineCrc32, gzipHead, gzipTail } from '#apiserver/representation/gzip-member.js';
import { gzipLevel } from '#apiserver/representation/streaming.js';
import { IterableBody } from '#http/server/body.js';
import type { Entry, EntryBytes } from '#storage/resource-storage.js';

/** Lists of encoded objects: a response adds only a head and a tail. */
export interface EncodedList {
  /** Names the encoding: equal objects have equal bytes in lists of the same form. */
  readonly form: string;
  readonly head: Buffer;
  readonly entries: readonly Entry[];
  readonly bytesOf: (entry: Entry) => EntryBytes;
  /** Number of bytes to omit at the beginning of each object. */
  readonly skipped: number;
  /** Bytes between two objects; may be empty. */
  readonly separator: Buffer;
  readonly tail: Buffer;
}

interface Block {
  /** Revisions of the block's objects. */
  readonly versions: Float64Array;
  readonly last: string;
  readonly compressed: Promise<Compressed>;
}

/** A range of bytes; the first `from` are omitted. */
interface Part {
  readonly bytes: EntryBytes;
  readonly from: number;
}

interface Compressed {
  readonly bytes: Buffer;
  /** Checksum of the uncompressed bytes. */
  readonly crc: number;
  readonly length: number;
}

/** On average one object in this many begins a block; a power of two. */
const blockObjects = 256;
/** A block ends after the object that reaches this size; starting one costs about as much as compressing 100 kB. */
const maxBlockBytes = 2 * 1024 * 1024;
/** Memory of one list during compression: a block, zlib's state, and the output. */
const heldBytes = 2 * maxBlockBytes;
/** Limit of spare buffers for later blocks. */
const maxSpare = 2;

/** Buffers of this size are smaller than the blocks of long lists. */
const smallBytes = 256 * 1024;

const deflate = promisify(deflateRaw);
const options = { level: gzipLevel, finishFlush: constants.Z_FULL_FLUSH };

export class CompressedLists {
  readonly #maxBytes: number;
  /** Blocks by form and first key; least recently used first. */
  readonly #blocks = new Map<string, Block & { size: number }>();
  readonly #spare: Buffer[] = [];
  #bytes = 0;

  /** `maxBytes`: limit of compressed bytes in memory. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Compressed bytes in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The list as a gzip body, compressed as it is read. `list` must contain all objects of a range of keys; otherwise the
   * versions cannot distinguish two lists.
   */
  body(list: EncodedList): IterableBody {
    return new IterableBody(this.#parts(list), { held: heldBytes });
  }

  async *#parts(list: EncodedList): AsyncGenerator<Buffer, void, void> {
    yield gzipHead;
    let crc = 0;
    let length = 0;
    const add = (part: Compressed) => {
      crc = combineCrc32(crc, part.crc, part.length);
      length += part.length;
      return part.bytes;
    };
    yield add(await this.#compress([{ bytes: list.head, from: 0 }]));
    // The next block is compressed while this one is sent.
    let ahead: Promise<Compressed> | undefined;
    for (const entries of blocksOf(list)) {
      const ready = ahead === undefined ? undefined : await ahead;
      ahead = this.#compressed(list, entries);
      if (ready !== undefined) yield add(ready);
    }
    if (ahead !== undefined) yield add(await ahead);
    yield add(await this.#compress([{ bytes: list.tail, from: 0 }]));
    yield gzipTail(crc, length);
  }

  #compressed(list: EncodedList, entries: readonly Entry[]): Promise<Compressed> {
    const first = entries[0]?.key ?? '';
    const last = entries[entries.length - 1]?.key ?? '';
    // The last object of a list has no separator after it.
    const isEnd = entries[entries.length - 1] === list.entries[list.entries.length - 1];
    const name = `${list.form}${isEnd ? '$' : ''} ${first}`;
    const cached = this.#blocks.get(name);
    if (cached !== undefined && cached.last === last && sameVersions(cached.versions, entries)) {
      this.#blocks.delete(name);
      this.#blocks.set(name, cached);
      return cached.compressed;
    }
    const parts: Part[] = [];
    for (const [i, entry] of entries.entries()) {
      parts.push({ bytes: list.bytesOf(entry), from: list.skipped });
      if (!isEnd || i < entries.length - 1) parts.push({ bytes: list.separator, from: 0 });
    }
    const compressed = this.#compress(parts);
    this.#keep(name, { versions: Float64Array.from(entries, ({ revision }) => Number(revision)), last, compressed });
    return compressed;
  }

  async #compress(parts: readonly Part[]): Promise<Compressed> {
    const length = parts.reduce((sum, { bytes, from }) => sum + bytes.length - from, 0);
    // Reuse memory: collecting fresh buffers costs more than the compression.
    const memory = this.#take(length);
    let at = 0;
    for (const { bytes, from } of parts) {
      at += bytes.copy(memory, at, from);
    }
    const text = memory.subarray(0, length);
    try {
      return { bytes: await deflate(text, options), crc: crc32(text), length };
    } finally {
      this.#giveBack(memory);
    }
  }

  #take(bytes: number): Buffer {
    if (bytes < smallBytes) return Buffer.allocUnsafeSlow(bytes);
    const index = this.#spare.findIndex(({ length }) => length >= bytes);
    const [spare] = index < 0 ? [] : this.#spare.splice(index, 1);
    return spare ?? Buffer.allocUnsafeSlow(Math.max(bytes, maxBlockBytes + smallBytes));
  }

  /** Does not keep small buffers, such as those of heads and tails: they would take the places of buffers for blocks. */
  #giveBack(memory: Buffer): void {
    const isOfUse = memory.length >= smallBytes && memory.length <= 2 * maxBlockBytes;
    if (isOfUse && this.#spare.length < maxSpare) this.#spare.push(memory);
  }

  #keep(name: string, block: Block): void {
    this.#drop(name);
    const cached = { ...block, size: 0 };
    this.#blocks.set(name, cached);
    block.compressed.then(
      ({ bytes }) => {
        if (this.#blocks.get(name) !== cached) return;
        cached.size = bytes.length;
        this.#bytes += cached.size;
        for (const oldest of this.#blocks.keys()) {
          if (this.#bytes <= this.#maxBytes) break;
          this.#drop(oldest);
        }
      },
      // The caller that awaits the block gets the error.
      () => this.#drop(name),
    );
  }

  #drop(name: string): void {
    const block = this.#blocks.get(name);
    if (block === undefined) return;
    this.#blocks.delete(name);
    this.#bytes -= block.size;
  }
}

function* blocksOf({ entries, bytesOf }: EncodedList): Generator<readonly Entry[]> {
  let from = 0;
  let bytes = 0;
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i] as Entry;
    if (i > from && (bytes >= maxBlockBytes || beginsBlock(entry.key))) {
      yield entries.slice(from, i);
      from = i;
      bytes = 0;
    }
    bytes += bytesOf(entry).length;
  }
  if (from < entries.length) yield entries.slice(from);
}

/** True if the key begins a block, in every list alike. Uses FNV-1a, mixed so that keys with different last digits spread. */
function beginsBlock(key: string): boolean {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) & (blockObjects - 1)) === 0;
}

function sameVersions(versions: Float64Array, entries: readonly Entry[]): boolean {
  if (versions.length !== entries.length) return false;
  for (let i = 0; i < entries.length; i++) if (versions[i] !== Number((entries[i] as Entry).revision)) return false;
  return true;
}
