/**
 * What objects have in common, kept once: strings above all, names of images and labels, the values of environments, instants. It
 * saves most of the memory and of the time that decoding many objects takes. Of fixed size, whatever comes.
 */

/** Longer texts are rarely the same twice, and comparing them costs as much as making them. */
const maxLength = 96;
/** A power of two. A text that falls on another's slot takes its place. */
const slots = 1 << 14;

/** Raw JSON, of which objects that one program made have the same: fields of managers above all. */
const maxRawBytes = 16 * 1024;
const rawSlots = 1 << 8;

interface RawValue {
  readonly bytes: Buffer;
  readonly value: unknown;
}

export class SharedTexts {
  readonly #raw: (RawValue | undefined)[] = new Array(rawSlots);
  readonly #texts: (string | undefined)[] = new Array(slots);
  readonly #seconds = new Float64Array(slots >> 4);
  readonly #instants: (string | undefined)[] = new Array(slots >> 4);

  /** The UTF-8 text between two indexes of the buffer. */
  text(buffer: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    if (length > maxLength) return buffer.toString('utf8', start, end);
    let hash = length;
    for (let i = start; i < end; i++) {
      const byte = buffer[i] as number;
      if (byte >= 0x80) return buffer.toString('utf8', start, end);
      hash = Math.imul(hash ^ byte, 0x01000193);
    }
    const slot = (hash ^ (hash >>> 15)) & (slots - 1);
    const known = this.#texts[slot];
    if (known !== undefined && known.length === length && equals(known, buffer, start)) return known;
    const text = buffer.toString('latin1', start, end);
    this.#texts[slot] = text;
    return text;
  }

  /** What `parse` makes of the bytes; it is frozen, since the same bytes give the same value. */
  raw(bytes: Buffer, parse: (bytes: Buffer) => unknown): unknown {
    if (bytes.length > maxRawBytes) return parse(bytes);
    const slot = sampledHash(bytes) & (rawSlots - 1);
    const known = this.#raw[slot];
    if (known?.bytes.equals(bytes) === true) return known.value;
    const value = parse(bytes);
    deepFreeze(value);
    this.#raw[slot] = { bytes: Buffer.from(bytes), value };
    return value;
  }

  /** What `make` gives for that many seconds; the same seconds give the same string. */
  instant(seconds: number, make: (seconds: number) => string): string {
    const slot = ((seconds % this.#instants.length) + this.#instants.length) % this.#instants.length;
    const known = this.#instants[slot];
    if (known !== undefined && this.#seconds[slot] === seconds) return known;
    const text = make(seconds);
    this.#instants[slot] = text;
    this.#seconds[slot] = seconds;
    return text;
  }
}

/** Some bytes from all over are enough to tell most values apart; the rest is comparing. */
function sampledHash(bytes: Buffer): number {
  const step = Math.max(1, bytes.length >> 6);
  let hash = bytes.length;
  for (let i = 0; i < bytes.length; i += step) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  return hash ^ (hash >>> 13);
}

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
}

function equals(text: string, buffer: Buffer, start: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== buffer[start + i]) return false;
  return true;
}
