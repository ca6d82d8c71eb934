/**
 * Strings that messages have in common, kept once: names of images and labels, the values of environments, instants. It saves
 * most of the memory and of the time that decoding many objects takes. Of fixed size, whatever comes.
 */

/** Longer texts are rarely the same twice, and comparing them costs as much as making them. */
const maxLength = 96;
/** A power of two. A text that falls on another's slot takes its place. */
const slots = 1 << 14;

export class SharedTexts {
  readonly #texts: (string | undefined)[] = new Array(slots);
  /** Hashes of what was met last and is not kept: versions of objects and the like never come again. */
  readonly #met = new Int32Array(slots);
  /** Of each slot's text, whose bytes are at `slot * maxLength`: comparing these is faster than comparing strings. */
  readonly #lengths = new Uint8Array(slots);
  readonly #bytes = new Uint8Array(slots * maxLength);
  readonly #view = new DataView(this.#bytes.buffer);
  readonly #seconds = new Float64Array(slots >> 4);
  readonly #instants: (string | undefined)[] = new Array(slots >> 4);

  /** The UTF-8 text between two indexes of the buffer, of which `view` is a view. */
  text(buffer: Buffer, view: DataView, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    if (length > maxLength) return buffer.toString('utf8', start, end);
    const hash = hashOf(buffer, view, start, end);
    const slot = hash & (slots - 1);
    if (this.#lengths[slot] === length && this.#holds(slot, buffer, view, start, end))
      return this.#texts[slot] as string;
    if (!isAscii(buffer, start, end)) return buffer.toString('utf8', start, end);
    const text = buffer.toString('latin1', start, end);
    if (this.#met[slot] !== hash) {
      this.#met[slot] = hash;
      return text;
    }
    this.#texts[slot] = text;
    this.#lengths[slot] = length;
    for (let from = start, to = slot * maxLength; from < end; from++, to++) this.#bytes[to] = buffer[from] as number;
    return text;
  }

  /** Whether the slot's text, which is as long, has those bytes. */
  #holds(slot: number, buffer: Buffer, view: DataView, start: number, end: number): boolean {
    let known = slot * maxLength;
    if (end - start < 4) {
      for (let at = start; at < end; at++, known++) if (this.#bytes[known] !== buffer[at]) return false;
      return true;
    }
    const shift = known - start;
    const last = end - 4;
    const ours = this.#view;
    for (let at = start; at < last; at += 4) if (ours.getInt32(at + shift) !== view.getInt32(at)) return false;
    return ours.getInt32(last + shift) === view.getInt32(last);
  }

  /** What `make` gives for that many seconds; the same seconds give the same string. */
  instant(seconds: number, make: (seconds: number) => string): string {
    const slot = (seconds >>> 0) & (this.#instants.length - 1);
    const known = this.#instants[slot];
    if (known !== undefined && this.#seconds[slot] === seconds) return known;
    const text = make(seconds);
    this.#instants[slot] = text;
    this.#seconds[slot] = seconds;
    return text;
  }
}

/** Of all bytes, four at a time; the last four may overlap with those before them. */
function hashOf(buffer: Buffer, view: DataView, start: number, end: number): number {
  let hash = end - start;
  if (hash < 4) {
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (buffer[at] as number), 0x01000193);
  } else {
    const last = end - 4;
    for (let at = start; at < last; at += 4) hash = mixed(hash, view.getInt32(at));
    hash = mixed(hash, view.getInt32(last));
  }
  return hash ^ (hash >>> 15);
}

function mixed(hash: number, word: number): number {
  const product = Math.imul(hash ^ word, 0x9e3779b1);
  return product ^ (product >>> 15);
}

function isAscii(buffer: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((buffer[at] as number) >= 0x80) return false;
  return true;
}
