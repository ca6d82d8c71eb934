/**
 * A cursor over JSON bytes. It finds tokens, member names and ends of values, without decoding or validating strings,
 * numbers and literals: that is left to the runtime's parser and to `jsonSyntaxError`.
 */

export const quote = 0x22;
export const backslash = 0x5c;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;

const other = 0;
const blank = 1;
const mark = 2;
const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const marks: ReadonlySet<number> = new Set([quote, comma, colon, openBracket, closeBracket, openBrace, closeBrace]);

/** Classes of bytes outside of strings; numbers and literals consist of `other`. */
const kinds = Uint8Array.from({ length: 256 }, (_, byte) =>
  blanks.has(byte) ? blank : marks.has(byte) ? mark : other,
);

export class JSONCursor {
  /** Where the search for the next token starts. */
  at: number;
  /** The start of the last token. */
  start = 0;
  bytes: Buffer;
  /** Bytes from here on are ignored. */
  end: number;
  /** State of a value that `skip` left incomplete. */
  #depth = 0;
  #isString = false;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
    this.end = bytes.length;
  }

  /** The first byte of the next token, and moves `at` there; -1 at the end. */
  next(): number {
    const { bytes, end } = this;
    let at = this.at;
    while (at < end && kinds[bytes[at] as number] === blank) at++;
    this.at = at;
    return at < end ? (bytes[at] as number) : -1;
  }

  /** Moves past the next token and returns its first byte; -1 at the end. An unterminated string extends to the end. */
  advance(): number {
    const byte = this.next();
    const { bytes, end, at } = this;
    this.start = at;
    if (byte === quote) this.at = Math.min(endOfString(bytes, at + 1, end) + 1, end);
    else if (byte >= 0) this.at = kinds[byte] === mark ? at + 1 : endOfWord(bytes, at, end);
    return byte;
  }

  /** Moves past the next token if it is this byte. */
  take(byte: number): boolean {
    if (this.next() !== byte) return false;
    this.at++;
    return true;
  }

  /** Moves past the value that begins here. False if its end is missing: call again with more bytes, or `seek`. */
  skip(): boolean {
    const { bytes, end } = this;
    let { at } = this;
    let depth = this.#depth;
    let isString = this.#isString;
    let isOver = false;
    while (!isOver && at < end) {
      const byte = bytes[at] as number;
      if (isString || byte === quote) {
        at = endOfString(bytes, isString ? at : at + 1, end);
        isString = at >= end;
        if (!isString) at++;
        isOver = !isString && depth === 0;
      } else if (byte === openBrace || byte === openBracket) {
        depth++;
        at++;
      } else if (byte === closeBrace || byte === closeBracket) {
        at++;
        isOver = --depth <= 0;
      } else if (depth > 0) at++;
      else {
        at = endOfWord(bytes, at, end);
        isOver = at < end || end === bytes.length;
      }
    }
    this.at = at;
    this.#depth = isOver ? 0 : depth;
    this.#isString = isString;
    return isOver;
  }

  seek(at: number): void {
    this.at = at;
    this.#depth = 0;
    this.#isString = false;
  }

  /** Moves past the value that begins here. Throws a SyntaxError if it does not end. */
  skipWhole(): void {
    if (this.next() < 0 || !this.skip()) throw new SyntaxError('the end came too early');
  }

  /** Reads the member name here, sets `start` to its start, and moves to the value. Throws a SyntaxError. */
  name(): string {
    if (this.advance() !== quote) throw new SyntaxError(`a member's name was expected at byte ${this.start}`);
    const { start, at } = this;
    if (!this.take(colon)) throw new SyntaxError(`a colon was expected at byte ${this.at}`);
    this.next();
    return this.string(start, at);
  }

  /** The decoded string at that range. Throws a SyntaxError. */
  string(start: number, end: number): string {
    const text = this.bytes.toString('utf8', start, end);
    return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
  }
}

/** The index of the closing quote of the string whose content begins at `from`; `end` or more if it is missing. */
function endOfString(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const byte = bytes[at];
    if (byte === quote) break;
    at += byte === backslash ? 2 : 1;
  }
  return at;
}

/** The index after the number or literal that begins at `start`. */
function endOfWord(bytes: Buffer, start: number, end: number): number {
  let at = start + 1;
  while (at < end && kinds[bytes[at] as number] === other) at++;
  return at;
}
