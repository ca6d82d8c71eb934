/** Shares values that are decoded from the same bytes repeatedly, without decoding them again. Has a fixed size. */
import { deepFreeze } from '#apimachinery/freeze.js';

/** Longer encodings belong to composite values, which are not interned. */
const maxBytes = 8 * 1024;
/** A power of two. A colliding value replaces the entry of its slot. */
const slots = 1 << 13;

interface Entry {
  readonly type: object;
  readonly bytes: Buffer;
  readonly value: unknown;
}

export class InternTable {
  readonly #entries: (Entry | undefined)[] = new Array(slots);
  /** Hashes of recent values without an entry: only bytes that occur twice are worth a copy. */
  readonly #recentHashes = new Int32Array(slots);

  /**
   * The result of `read` for the bytes from `start` to before `end`, or an earlier result for equal bytes and type.
   * Shared values are frozen; the caller must never modify the result.
   */
  of(type: { readonly name: string }, buffer: Buffer, start: number, end: number, read: () => unknown): unknown {
    if (end - start > maxBytes) return read();
    const hash = hashOf(type.name.length, buffer, start, end);
    const slot = hash & (slots - 1);
    const entry = this.#entries[slot];
    if (entry !== undefined && entry.type === type && isEqual(entry.bytes, buffer, start, end)) return entry.value;
    const value = read();
    if (this.#recentHashes[slot] === hash) {
      const bytes = Buffer.from(buffer.subarray(start, end));
      this.#entries[slot] = { type, bytes, value: deepFreeze(value) };
    } else this.#recentHashes[slot] = hash;
    return value;
  }
}

function isEqual(expected: Buffer, buffer: Buffer, start: number, end: number): boolean {
  return expected.length === end - start && buffer.compare(expected, 0, expected.length, start, end) === 0;
}

/** Hashes all bytes: two values often differ in a single one. */
function hashOf(seed: number, buffer: Buffer, start: number, end: number): number {
  let hash = Math.imul(end - start + 1, 0x9e3779b1) ^ seed;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (buffer[at] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}
