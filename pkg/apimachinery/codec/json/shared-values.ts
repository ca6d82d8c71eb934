/** Parts of objects in JSON that objects have in common, kept once: fields of managers above all. Of fixed size, whatever comes. */

const maxBytes = 16 * 1024;
/** A power of two. A value that falls on another's slot takes its place. */
const slots = 1 << 8;

/** Frozen, as the same bytes give the same value. */
export interface SharedValue {
  readonly bytes: Buffer;
  readonly value: unknown;
}

export class SharedValues {
  readonly #known: (SharedValue | undefined)[] = new Array(slots);

  /** What `parse` makes of the bytes: frozen, unless they are too many to be shared. */
  of(bytes: Buffer, parse: (bytes: Buffer) => unknown): unknown {
    const known = this.entry(bytes, parse);
    return known === undefined ? parse(bytes) : known.value;
  }

  /** The same with a copy of the bytes that lasts; undefined for too many of them. */
  entry(bytes: Buffer, parse: (bytes: Buffer) => unknown): SharedValue | undefined {
    if (bytes.length > maxBytes) return undefined;
    const slot = sampledHash(bytes) & (slots - 1);
    const known = this.#known[slot];
    if (known?.bytes.equals(bytes) === true) return known;
    const made = { bytes: Buffer.from(bytes), value: parse(bytes) };
    deepFreeze(made.value);
    this.#known[slot] = made;
    return made;
  }
}

/** Some bytes from all over are enough to tell most values apart; the rest is comparing. */
function sampledHash(bytes: Buffer): number {
  const step = Math.max(1, bytes.length >> 6);
  let hash = bytes.length;
  for (let i = 0; i < bytes.length; i += step) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  return hash ^ (hash >>> 13);
}

/** With all that is in it. */
function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
}
