/**
 * The one cursor over JSON bytes. It finds tokens, names of members and the ends of values, and neither decodes nor checks what
 * is inside of strings, numbers and words: that is for the parser of the runtime, and for `jsonSyntaxError`.
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

/** What a byte is outside of strings; numbers and words are of the others. */
const kinds = Uint8Array.from({ length: 256 }, (_, byte) =>
  blanks.has(byte) ? blank : marks.has(byte) ? mark : other,
);

export class JSONCursor {
  /** Where the next token is looked for. */
  at: number;
  /** Where the last token began. */
  start = 0;
  bytes: Buffer;
  /** What is behind it is not looked at. */
  end: number;
  /** Of the value in whose middle `skip` has come to the end. */
  #depth = 0;
  #isString = false;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
    this.end = bytes.length;
  }

  /** The byte with which the next token begins, at `at` from now on; -1 at the end. */
  next(): number {
    const { bytes, end } = this;
    let at = this.at;
    while (at < end && kinds[bytes[at] as number] === blank) at++;
    this.at = at;
    return at < end ? (bytes[at] as number) : -1;
  }

  /** Goes behind the next token and says with which byte it begins; -1 at the end. A string without an end ends there, too. */
  advance(): number {
    const byte = this.next();
    const { bytes, end, at } = this;
    this.start = at;
    if (byte === quote) this.at = Math.min(endOfString(bytes, at + 1, end) + 1, end);
    else if (byte >= 0) this.at = kinds[byte] === mark ? at + 1 : endOfWord(bytes, at, end);
    return byte;
  }

  /** Goes behind the next token, if that is this byte. */
  take(byte: number): boolean {
    if (this.next() !== byte) return false;
    this.at++;
    return true;
  }

  /**
   * Goes behind the value that begins here. False where its end is not there: it may be called again where the bytes go on, or
   * `seek` leads elsewhere.
   */
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

  /** Goes behind the value that begins here. Throws a SyntaxError where it does not end. */
  skipWhole(): void {
    if (this.next() < 0 || !this.skip()) throw new SyntaxError('the end came too early');
  }

  /** The name of the member that begins here, up to whose value it goes; `start` is where the name begins. Throws a SyntaxError. */
  name(): string {
    if (this.advance() !== quote) throw new SyntaxError(`a member's name was expected at byte ${this.start}`);
    const { start, at } = this;
    if (!this.take(colon)) throw new SyntaxError(`a colon was expected at byte ${this.at}`);
    this.next();
    return this.string(start, at);
  }

  /** What the string between there says. Throws a SyntaxError. */
  string(start: number, end: number): string {
    const text = this.bytes.toString('utf8', start, end);
    return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
  }
}

/** Where the quote is that ends the string whose inside begins there; `end` or more where there is none. */
function endOfString(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const byte = bytes[at];
    if (byte === quote) break;
    at += byte === backslash ? 2 : 1;
  }
  return at;
}

/** The index behind the number or word that begins there. */
function endOfWord(bytes: Buffer, start: number, end: number): number {
  let at = start + 1;
  while (at < end && kinds[bytes[at] as number] === other) at++;
  return at;
}
