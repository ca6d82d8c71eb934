/**
 * Values in JSON that come again and again, parsed once and frozen: the specs of one template's pods. A value has to come
 * twice before it is kept, since most of what differs from object to object never does. Of fixed size, whatever comes.
 */

import { deepFreeze } from '#apimachinery/codec/json/shared-values.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';

/** Shorter ones are parsed in no time; longer ones are hardly ever shared. */
const leastBytes = 512;
const mostBytes = 8 * 1024;
/** A power of two. A value that falls on another's slot takes its place. */
const slots = 1 << 8;
const samples = 128;

interface Slot {
  readonly hash: number;
  /** How often a value of this hash came that is not kept. */
  unknown: number;
  kept: { readonly bytes: Buffer; readonly value: object } | undefined;
}

export class RecurringValues {
  readonly #slots: (Slot | undefined)[] = new Array(slots);

  /** True for values that are worth to be asked for here. */
  concern(bytes: number): boolean {
    return bytes >= leastBytes && bytes <= mostBytes;
  }

  /** What the bytes say, to be read only: it may be frozen, and shared. */
  of(bytes: Buffer): object {
    const hash = sampledHash(bytes);
    const at = hash & (slots - 1);
    let slot = this.#slots[at];
    if (slot?.kept?.bytes.equals(bytes) === true) return slot.kept.value;
    const value = parseJSONText(bytes.toString('utf8')) as object;
    if (slot?.hash !== hash) {
      slot = { hash, unknown: 0, kept: undefined };
      this.#slots[at] = slot;
      return value;
    }
    slot.unknown++;
    // The second, fourth, eighth time: where each is another one, nothing is gained by keeping it.
    if ((slot.unknown & (slot.unknown - 1)) === 0) {
      deepFreeze(value);
      slot.kept = { bytes: Buffer.from(bytes), value };
    }
    return value;
  }
}

/** Some bytes from all over are enough to tell most values apart; the rest is comparing. */
function sampledHash(bytes: Buffer): number {
  const step = Math.max(1, Math.floor(bytes.length / samples));
  let hash = bytes.length;
  for (let i = 0; i < bytes.length; i += step) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  return hash ^ (hash >>> 13);
}
