/** Parts of bodies that came before, by how they begin. Of bounded size, whatever comes. */

/** Deeper parts are left to the walk, which knows how deep is too deep. */
export const mostDepth = 64;

/** A part that came before. */
export interface KnownPart<S = unknown> {
  readonly bytes: Buffer;
  /** What it is a part of, where the same bytes mean something else in something else. */
  readonly of: S;
}

export interface KnownPartsOptions<S, P extends KnownPart<S>> {
  /** Shorter parts are parsed in no time. */
  readonly leastBytes: number;
  /** Beginnings that are told apart. */
  readonly maxPlaces: number;
  /** Of all that is known. */
  readonly maxBytes: number;
  /** Known parts of one beginning. */
  readonly maxPerPlace: number;
  /** The part that begins there, unless there is anything to say against it. */
  readonly make: (body: Buffer, start: number, of: S) => P | undefined;
}

/** Parts that begin alike. */
interface Place<P> {
  readonly parts: P[];
  /** How often one came that is not known. */
  unknown: number;
}

export class KnownParts<S, P extends KnownPart<S>> {
  readonly #options: KnownPartsOptions<S, P>;
  /** By a hash of the beginning; those that came first are first. */
  readonly #places = new Map<number, Place<P>>();
  #bytes = 0;

  constructor(options: KnownPartsOptions<S, P>) {
    this.#options = options;
  }

  /** The known part that stands there; undefined where it is not known yet. */
  find(body: Buffer, start: number, of: S): P | undefined {
    const { leastBytes } = this.#options;
    if (start + leastBytes > body.length) return undefined;
    const hash = hashOf(body, start, leastBytes);
    const place = this.#places.get(hash);
    if (place === undefined) {
      this.#places.set(hash, { parts: [], unknown: 0 });
      this.#forget();
      return undefined;
    }
    for (const part of place.parts) if (part.of === of && isAt(part, body, start)) return part;
    // What differs each time is soon tried less and less.
    if (isPowerOfTwo(++place.unknown)) this.#learn(place, this.#options.make(body, start, of));
    return undefined;
  }

  #learn({ parts }: Place<P>, part: P | undefined): void {
    const { leastBytes, maxPerPlace } = this.#options;
    if (part === undefined || part.bytes.length < leastBytes) return;
    if (parts.length === maxPerPlace) this.#bytes -= parts.shift()?.bytes.length ?? 0;
    parts.push(part);
    this.#bytes += part.bytes.length;
    this.#forget();
  }

  /** The oldest go first. */
  #forget(): void {
    const { maxPlaces, maxBytes } = this.#options;
    for (const [hash, { parts }] of this.#places) {
      if (this.#places.size <= maxPlaces && this.#bytes <= maxBytes) return;
      this.#places.delete(hash);
      for (const { bytes } of parts) this.#bytes -= bytes.length;
    }
  }
}

/** True for 1, 2, 4, 8 and so on: to be asked of a count of failures, so that what goes wrong each time costs little. */
export function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0;
}

function isAt({ bytes }: KnownPart, body: Buffer, start: number): boolean {
  const { length } = bytes;
  return start + length <= body.length && body.compare(bytes, 0, length, start, start + length) === 0;
}

function hashOf(body: Buffer, start: number, length: number): number {
  let hash = 0;
  for (let i = start; i < start + length; i++) hash = Math.imul(hash ^ (body[i] as number), 0x01000193);
  return hash ^ (hash >>> 13);
}

const quote = 0x22;
const backslash = 0x5c;

/**
 * The bytes of the object that begins there, as far as braces and quotes tell; undefined where it is too long, too deep or
 * has no end.
 */
export function objectAt(body: Buffer, start: number, mostBytes: number): Buffer | undefined {
  const last = Math.min(body.length, start + mostBytes);
  let depth = 0;
  for (let at = start; at < last; at++) {
    const byte = body[at];
    if (byte === quote) {
      for (at++; at < last && body[at] !== quote; at++) if (body[at] === backslash) at++;
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > mostDepth) return undefined;
    } else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) return body.subarray(start, at + 1);
  }
  return undefined;
}
