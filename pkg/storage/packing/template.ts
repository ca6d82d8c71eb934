/**
 * Bytes that others resemble. What they have in common with others is found as rsync does it, by blocks of fixed size in the
 * template that may be anywhere in the others; blocks are compared byte by byte, so that what is shared is equal whatever
 * the hashes say. Any bytes will do, JSON or Protobuf.
 */

/** Stretches begin and end at multiples of this in the template, so that many objects share the very same ones. */
const blockBytes = 8;
/** Shorter ones cost more than they save. */
const minStretch = 48;
/** Stretches per template at most: their number fits a byte. */
export const maxStretches = 255;
/** Blocks with the same hash that are looked at: long chains are of text that is everywhere the same. */
const maxChain = 8;

export interface Run {
  /** Where it begins in the bytes that were compared. */
  readonly at: number;
  /** Where it begins in the template. */
  readonly from: number;
  readonly length: number;
}

export class Template {
  readonly bytes: Buffer;
  /** Where descriptions of what is made of it are written and read; overwritten by the next one. */
  readonly scratch: Buffer;
  /** Parts of the bytes that others have too. Only grows. */
  readonly stretches: Buffer[] = [];
  readonly #indexes = new Map<number, number>();
  readonly #words: DataView;
  #blocks: BlockIndex | undefined;

  /** The bytes are not copied. */
  constructor(bytes: Buffer, scratch: Buffer) {
    this.bytes = bytes;
    this.scratch = scratch;
    this.#words = wordsOf(bytes);
  }

  /**
   * What of `bytes` is in the template too, in order and without overlaps; undefined when more than `maxOwn` bytes are
   * not.
   */
  runs(bytes: Buffer, maxOwn: number): Run[] | undefined {
    this.#blocks ??= new BlockIndex(this.#words);
    const words = wordsOf(bytes);
    const last = bytes.length - blockBytes;
    const runs: Run[] = [];
    let own = 0;
    let at = 0;
    let expected = 0;
    while (at <= last && own <= maxOwn) {
      const from = this.#blocks.find(words.getInt32(at, true), words.getInt32(at + 4, true), expected);
      const length = from < 0 ? 0 : this.#common(from, words, at);
      if (length < minStretch) {
        own++;
        at++;
        continue;
      }
      runs.push({ at, from, length });
      at += length;
      expected = from + length;
    }
    return own + bytes.length - at > maxOwn ? undefined : runs;
  }

  /** The index of that part among the stretches; undefined when there are too many already. */
  stretch({ from, length }: Run): number | undefined {
    const key = from * 2 ** 20 + length;
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const index = this.stretches.length;
    if (index === maxStretches) return undefined;
    this.stretches.push(this.bytes.subarray(from, from + length));
    this.#indexes.set(key, index);
    return index;
  }

  /** Bytes in whole blocks that are the same from there on. */
  #common(from: number, words: DataView, at: number): number {
    const ours = this.#words;
    const most = Math.min(ours.byteLength - from, words.byteLength - at) - blockBytes;
    let length = 0;
    while (
      length <= most &&
      ours.getInt32(from + length, true) === words.getInt32(at + length, true) &&
      ours.getInt32(from + length + 4, true) === words.getInt32(at + length + 4, true)
    )
      length += blockBytes;
    return length;
  }
}

function wordsOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Where each block of a template is. */
class BlockIndex {
  readonly #words: DataView;
  /** Number of the first block of each hash, plus one. */
  readonly #first: Int32Array;
  /** Number of the next block of the same hash, plus one. */
  readonly #next: Int32Array;
  readonly #shift: number;

  constructor(words: DataView) {
    this.#words = words;
    const count = Math.floor(words.byteLength / blockBytes);
    const bits = Math.max(4, 33 - Math.clz32(count));
    this.#shift = 32 - bits;
    this.#first = new Int32Array(1 << bits);
    this.#next = new Int32Array(count);
    for (let block = count - 1; block >= 0; block--) {
      const at = block * blockBytes;
      const slot = this.#slot(words.getInt32(at, true), words.getInt32(at + 4, true));
      this.#next[block] = this.#first[slot] as number;
      this.#first[slot] = block + 1;
    }
  }

  /** The nearest to `expected` of the blocks that consist of these two words; -1 when there is none. */
  find(low: number, high: number, expected: number): number {
    const words = this.#words;
    if (
      expected + blockBytes <= words.byteLength &&
      words.getInt32(expected, true) === low &&
      words.getInt32(expected + 4, true) === high
    )
      return expected;
    let found = -1;
    let block = this.#first[this.#slot(low, high)] as number;
    for (let i = 0; block !== 0 && i < maxChain; i++) {
      const at = (block - 1) * blockBytes;
      const nearer = found < 0 || Math.abs(at - expected) < Math.abs(found - expected);
      if (nearer && words.getInt32(at, true) === low && words.getInt32(at + 4, true) === high) found = at;
      block = this.#next[block - 1] as number;
    }
    return found;
  }

  #slot(low: number, high: number): number {
    return Math.imul(Math.imul(low, 0x9e3779b1) ^ high, 0x85ebca6b) >>> this.#shift;
  }
}
