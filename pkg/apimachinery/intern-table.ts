/**
 * Values that were read from the same bytes before: kept once, and not read again. Of fixed size, whatever comes.
 */
import { deepFreeze } from '#apimachinery/freeze.js';

/** More bytes are those of a value that is made of others. */
const maxBytes = 8 * 1024;
/** A power of two. A value that falls on another's slot takes its place. */
const slots = 1 << 13;

interface Entry {
  readonly type: object;
  readonly bytes: Buffer;
  readonly value: unknown;
}

export class InternTable {
  readonly #entries: (Entry | undefined)[] = new Array(slots);
  /** Hashes of what came last and is not kept: only what comes a second time is worth a copy of its bytes. */
  readonly #met = new Int32Array(slots);

  /**
   * What `read` makes of the bytes from `start` on and before `end`, or made of the same ones for the same type before.
   * The value is frozen once it is shared; its reader must not change it from the start.
   */
  of(type: { readonly name: string }, buffer: Buffer, start: number, end: number, read: () => unknown): unknown {
    if (end - start > maxBytes) return read();
    const hash = hashOf(type.name.length, buffer, start, end);
    const slot = hash & (slots - 1);
    const entry = this.#entries[slot];
    if (entry !== undefined && entry.type === type && isEqual(entry.bytes, buffer, start, end)) return entry.value;
    const value = read();
    if (this.#met[slot] === hash) {
      const bytes = Buffer.from(buffer.subarray(start, end));
      this.#entries[slot] = { type, bytes, value: deepFreeze(value) };
    } else this.#met[slot] = hash;
    return value;
  }
}

function isEqual(known: Buffer, buffer: Buffer, start: number, end: number): boolean {
  return known.length === end - start && buffer.compare(known, 0, known.length, start, end) === 0;
}

/** Of all bytes: two values often differ in one. */
function hashOf(seed: number, buffer: Buffer, start: number, end: number): number {
  let hash = Math.imul(end - start + 1, 0x9e3779b1) ^ seed;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (buffer[at] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}
