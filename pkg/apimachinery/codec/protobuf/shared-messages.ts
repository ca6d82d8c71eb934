/**
 * Messages that objects have in common, kept once: containers, tolerations, owners, conditions. Pods of one template are
 * nearly all the same, so that it saves most of the memory of a cache, and of the time to fill it. Of fixed size, whatever
 * comes.
 */
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** Longer messages are made of others that are shared. */
const maxBytes = 8 * 1024;
/** A power of two. A message that falls on another's slot takes its place. */
const slots = 1 << 13;

/** A message that is to be read: what of the buffer is its. */
interface UnreadMessage {
  readonly buffer: Buffer;
  at: number;
  readonly end: number;
}

interface SharedMessage {
  readonly type: TypeInfo;
  readonly bytes: Buffer;
  /** Frozen, as the same bytes give the same value. */
  readonly value: unknown;
}

export class SharedMessages {
  readonly #known: (SharedMessage | undefined)[] = new Array(slots);
  /** Hashes of what was met last and is not kept: only what comes a second time is worth a copy of its bytes. */
  readonly #met = new Int32Array(slots);

  /** What `read` makes of the message between the reader's position and its end. */
  of(type: TypeInfo, reader: UnreadMessage, read: () => unknown): unknown {
    const { buffer, at, end } = reader;
    if (end - at > maxBytes) return read();
    const hash = hashOf(type, buffer, at, end);
    const slot = hash & (slots - 1);
    const known = this.#known[slot];
    if (known !== undefined && known.type === type && isEqual(known.bytes, buffer, at, end)) {
      reader.at = end;
      return known.value;
    }
    const value = read();
    if (this.#met[slot] !== hash) {
      this.#met[slot] = hash;
      return value;
    }
    deepFreeze(value);
    this.#known[slot] = { type, bytes: Buffer.from(buffer.subarray(at, end)), value };
    return value;
  }
}

function isEqual(known: Buffer, buffer: Buffer, start: number, end: number): boolean {
  return known.length === end - start && buffer.compare(known, 0, known.length, start, end) === 0;
}

/** Of all bytes: two messages often differ in one. */
function hashOf({ name }: TypeInfo, buffer: Buffer, start: number, end: number): number {
  let hash = Math.imul(end - start + 1, 0x9e3779b1) ^ name.length;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (buffer[at] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}

/** What is frozen is so in all its parts. */
function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
}
