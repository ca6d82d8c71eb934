/**
 * Strings that objects have in common, kept once: names of images and labels, the values of environments, instants. It
 * saves most of the memory and of the time that decoding many objects takes. Of fixed size, whatever comes.
 */

/** Longer texts are rarely the same twice, and comparing them costs as much as making them. */
const maxLength = 96;
/** A power of two. A text that falls on another's slot takes its place. */
const slots = 1 << 14;

export class SharedTexts {
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

function equals(text: string, buffer: Buffer, start: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== buffer[start + i]) return false;
  return true;
}
