/**
 * Lists as gzip, block by block: what has been compressed once is sent again as long as its objects stay the same.
 *
 * A list is one gzip member. Its blocks are compressed apart from each other, each up to a byte boundary, so that they can
 * be put together in any order and number; the checksum of the whole is computed from theirs. Blocks begin at objects that
 * are chosen by their keys, so that a change makes one block anew and leaves those behind it as they are.
 */

import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';
import { combineCrc32 } from '#apiserver/representation/crc32-combine.js';
import { gzipLevel } from '#apiserver/representation/streaming.js';
import { IterableBody } from '#http/server/body.js';
import type { Entry, EntryBytes } from '#storage/resource-storage.js';

/** Lists whose objects are encoded already: nothing is made for an answer but what stands before and behind them. */

export interface ReadyList {
  /** Names the bytes of the objects: the same objects have the same bytes in lists of the same form. */
  readonly form: string;
  readonly head: Buffer;
  readonly entries: readonly Entry[];
  readonly bytesOf: (entry: Entry) => EntryBytes;
  /** Bytes at the beginning of each object that are left out. */
  readonly skipped: number;
  /** Between two objects; empty where nothing is. */
  readonly separator: Buffer;
  readonly tail: Buffer;
}

interface Block {
  /** Which objects in which versions. */
  readonly versions: Float64Array;
  readonly last: string;
  readonly compressed: Promise<Compressed>;
}

/** What comes behind the first `from` bytes. */
interface Part {
  readonly bytes: EntryBytes;
  readonly from: number;
}

interface Compressed {
  readonly bytes: Buffer;
  /** Of what was compressed. */
  readonly crc: number;
  readonly length: number;
}

/** One object in so many begins a block; a power of two. */
const blockObjects = 256;
/** A block ends behind the object that reaches this; to begin one costs about as much as to compress 100 kB. */
const maxBlockBytes = 2 * 1024 * 1024;
/** What one list holds while it is compressed: a block, what zlib needs, and what has come out. */
const heldBytes = 2 * maxBlockBytes;
/** Memory for blocks that is kept for the next ones. */
const maxSpare = 2;

/** Less than a block of a list of any size has. */
const smallBytes = 256 * 1024;

const deflate = promisify(deflateRaw);
const options = { level: gzipLevel, finishFlush: constants.Z_FULL_FLUSH };
/** No name, no time, no operating system. */
const memberHead = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
/** An empty last block. */
const lastBlock = Buffer.from([3, 0]);

export class CompressedLists {
  readonly #maxBytes: number;
  /** In the order of their last use, by form and first key. */
  readonly #blocks = new Map<string, Block & { size: number }>();
  readonly #spare: Buffer[] = [];
  #bytes = 0;

  /** `maxBytes`: compressed bytes that are kept. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Compressed bytes that are kept now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The list as a gzip body, compressed as it is read. `list` must have all objects of a range of keys: versions tell two
   * lists apart only where none is left out.
   */
  body(list: ReadyList): IterableBody {
    return new IterableBody(this.#parts(list), { held: heldBytes });
  }

  async *#parts(list: ReadyList): AsyncGenerator<Buffer, void, void> {
    yield memberHead;
    let crc = 0;
    let length = 0;
    const add = (part: Compressed) => {
      crc = combineCrc32(crc, part.crc, part.length);
      length += part.length;
      return part.bytes;
    };
    yield add(await this.#compress([{ bytes: list.head, from: 0 }]));
    // While one is sent, the next is compressed.
    let ahead: Promise<Compressed> | undefined;
    for (const entries of blocksOf(list)) {
      const ready = ahead === undefined ? undefined : await ahead;
      ahead = this.#compressed(list, entries);
      if (ready !== undefined) yield add(ready);
    }
    if (ahead !== undefined) yield add(await ahead);
    yield add(await this.#compress([{ bytes: list.tail, from: 0 }]));
    const trailer = Buffer.alloc(lastBlock.length + 8);
    lastBlock.copy(trailer);
    trailer.writeUInt32LE(crc, lastBlock.length);
    trailer.writeUInt32LE(length % 2 ** 32, lastBlock.length + 4);
    yield trailer;
  }

  #compressed(list: ReadyList, entries: readonly Entry[]): Promise<Compressed> {
    const first = entries[0]?.key ?? '';
    const last = entries[entries.length - 1]?.key ?? '';
    // The last object of a list has no separator behind it.
    const isEnd = entries[entries.length - 1] === list.entries[list.entries.length - 1];
    const name = `${list.form}${isEnd ? '$' : ''} ${first}`;
    const known = this.#blocks.get(name);
    if (known !== undefined && known.last === last && sameVersions(known.versions, entries)) {
      this.#blocks.delete(name);
      this.#blocks.set(name, known);
      return known.compressed;
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
    // Memory that is taken anew each time would be collected at a cost greater than that of compressing.
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
    const [found] = index < 0 ? [] : this.#spare.splice(index, 1);
    return found ?? Buffer.allocUnsafeSlow(Math.max(bytes, maxBlockBytes + smallBytes));
  }

  /** Small ones, as for the ends of lists, would take the places of those that blocks need. */
  #giveBack(memory: Buffer): void {
    const isOfUse = memory.length >= smallBytes && memory.length <= 2 * maxBlockBytes;
    if (isOfUse && this.#spare.length < maxSpare) this.#spare.push(memory);
  }

  #keep(name: string, block: Block): void {
    this.#drop(name);
    const kept = { ...block, size: 0 };
    this.#blocks.set(name, kept);
    block.compressed.then(
      ({ bytes }) => {
        if (this.#blocks.get(name) !== kept) return;
        kept.size = bytes.length;
        this.#bytes += kept.size;
        for (const oldest of this.#blocks.keys()) {
          if (this.#bytes <= this.#maxBytes) break;
          this.#drop(oldest);
        }
      },
      // Whoever awaits the block hears of it.
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

function* blocksOf({ entries, bytesOf }: ReadyList): Generator<readonly Entry[]> {
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

/** The same for a key in every list. FNV-1a, mixed so that keys that differ in their last digits spread. */
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
