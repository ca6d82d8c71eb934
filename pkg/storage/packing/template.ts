/**
 * Bytes that similar objects share. Common runs are searched like rsync does: fixed blocks of the template may occur
 * anywhere in the other bytes. Blocks are compared byte by byte, so hash collisions do not matter. Works for JSON and
 * Protobuf.
 */

/** Alignment of stretches in the template, so that many objects share the same ones. */
const blockBytes = 8;
/** Minimum length: shorter stretches cost more than they save. */
const minStretch = 48;
/** Limit of stretches per template: an index is one byte. */
export const maxStretches = 255;
/** Limit of compared blocks per hash: long chains are repetitive text. */
const maxChain = 8;

export interface Run {
  /** Offset in the compared bytes. */
  readonly at: number;
  /** Offset in the template. */
  readonly from: number;
  readonly length: number;
}

export class Template {
  readonly bytes: Buffer;
  /** Buffer for packed descriptions; overwritten by the next one. */
  readonly scratch: Buffer;
  /** Stretches in use; only grows. */
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

  /** Parts of `bytes` in the template, in order and without overlaps; undefined if more than `maxOwn` bytes are in none. */
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

  /** Index of the stretch; undefined if the limit is reached. */
  stretch({ from, length }: Run): number | undefined {
    const key = from * 2 ** 20 + length;
    const existing = this.#indexes.get(key);
    if (existing !== undefined) return existing;
    const index = this.stretches.length;
    if (index === maxStretches) return undefined;
    this.stretches.push(this.bytes.subarray(from, from + length));
    this.#indexes.set(key, index);
    return index;
  }

  /** Length of the equal bytes from there on, in whole blocks. */
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

/** Index of a template's blocks. */
class BlockIndex {
  readonly #words: DataView;
  /** First block of each hash, plus one. */
  readonly #first: Int32Array;
  /** Next block with the same hash, plus one. */
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

  /** The block with these words nearest to `expected`; -1 if none. */
  find(low: number, high: number, expected: number): number {
    const words = this.#words;
    if (
      expected + blockBytes <= words.byteLength &&
      words.getInt32(expected, true) === low &&
      words.getInt32(expected + 4, true) === high
    )
      return expected;
    let nearest = -1;
    let block = this.#first[this.#slot(low, high)] as number;
    for (let i = 0; block !== 0 && i < maxChain; i++) {
      const at = (block - 1) * blockBytes;
      const nearer = nearest < 0 || Math.abs(at - expected) < Math.abs(nearest - expected);
      if (nearer && words.getInt32(at, true) === low && words.getInt32(at + 4, true) === high) nearest = at;
      block = this.#next[block - 1] as number;
    }
    return nearest;
  }

  #slot(low: number, high: number): number {
    return Math.imul(Math.imul(low, 0x9e3779b1) ^ high, 0x85ebca6b) >>> this.#shift;
  }
}
