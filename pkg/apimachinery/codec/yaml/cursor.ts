/** The characters of a YAML text and the scanner's position. */
import type { Mark } from '#apimachinery/codec/yaml/tokens.js';
import { YamlError } from '#apimachinery/codec/yaml/yaml-error.js';

const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const nextLine = 0x85;
const lineSeparator = 0x2028;
const paragraphSeparator = 0x2029;
const byteOrderMarks = /^\ufeff{1,2}/;
/** UTF-8 bytes per read of 1.24, which never validates what follows the first document beyond its current chunk. */
const chunkBytes = 512;

/** Marks the end of the text; YAML text never contains it. */
export const end = 0;

const refused =
  /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

export function isBlank(code: number): boolean {
  return code === space || code === tab;
}

export function isBreak(code: number): boolean {
  return (
    code === lineFeed ||
    code === carriageReturn ||
    code === nextLine ||
    code === lineSeparator ||
    code === paragraphSeparator
  );
}

export function isBreakOrEnd(code: number): boolean {
  return code === end || isBreak(code);
}

export function isBlankOrEnd(code: number): boolean {
  return isBlank(code) || isBreakOrEnd(code);
}

/** Characters of names: letters, digits, `_` and `-`. */
export function isWord(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === 0x5f ||
    code === 0x2d
  );
}

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

export class Cursor implements Mark {
  readonly #text: string;
  /** The text is truncated before characters that YAML does not allow. */
  readonly #isCut: boolean;
  #at = 0;
  index = 0;
  line = 0;
  column = 0;

  /** Throws a YamlError for a text whose first chunk has invalid characters. */
  constructor(text: string) {
    const whole = text.replace(byteOrderMarks, '');
    const wrong = whole.search(refused);
    this.#isCut = wrong >= 0;
    this.#text = this.#isCut ? whole.slice(0, chunkBefore(whole, wrong)) : whole;
    if (this.#isCut && this.#text === '') throw unreadable();
  }

  /** The code unit at that distance; `end` after the text. Throws a YamlError if the text there is invalid. */
  peek(distance = 0): number {
    const code = this.#text.charCodeAt(this.#at + distance);
    return Number.isNaN(code) ? this.#end() : code;
  }

  #end(): number {
    if (this.#isCut) throw unreadable();
    return end;
  }

  mark(): Mark {
    const { index, line, column } = this;
    return { index, line, column };
  }

  /** Skips one character that is not a line break. */
  skip(): void {
    const code = this.peek();
    this.#at += code >= 0xd800 && code < 0xdc00 ? 2 : 1;
    this.index++;
    this.column++;
  }

  /** Reads one character. */
  read(): string {
    const from = this.#at;
    this.skip();
    return this.#text.slice(from, this.#at);
  }

  /** Reads characters up to a line break or the first one that satisfies `isEnd` (called with its distance). */
  readUntil(isEnd: (code: number, distance: number) => boolean): string {
    let size = 0;
    let pairs = 0;
    for (let code = this.peek(); !isEnd(code, size); code = this.peek(++size)) {
      if (code >= 0xd800 && code < 0xdc00) pairs++;
    }
    const from = this.#at;
    this.#at += size;
    this.index += size - pairs;
    this.column += size - pairs;
    return this.#text.slice(from, this.#at);
  }

  /** Reads a line break in normalized form: nearly all become line feeds. */
  readBreak(): string {
    const code = this.peek();
    const size = code === carriageReturn && this.peek(1) === lineFeed ? 2 : 1;
    this.#at += size;
    this.index += size;
    this.column = 0;
    this.line++;
    return code === lineSeparator || code === paragraphSeparator ? String.fromCharCode(code) : '\n';
  }

  /** Whether the line begins here with `---` or `...`. */
  isAtDocumentIndicator(): boolean {
    if (this.column !== 0) return false;
    const code = this.peek();
    if (code !== 0x2d && code !== 0x2e) return false;
    return this.peek(1) === code && this.peek(2) === code && isBlankOrEnd(this.peek(3));
  }

  skipBlanks(): void {
    while (isBlank(this.peek())) this.skip();
  }

  /** Skips a comment up to the end of its line. */
  skipComment(): void {
    if (this.peek() !== 0x23) return;
    while (!isBreakOrEnd(this.peek())) this.skip();
  }
}

function unreadable(): YamlError {
  return new YamlError('control characters are not allowed');
}

/** The start of the chunk that contains a character. */
function chunkBefore(text: string, at: number): number {
  let start = at;
  for (let left = Buffer.byteLength(text.slice(0, at)) % chunkBytes; left > 0; ) {
    start--;
    left -= Buffer.byteLength(text.charAt(start));
  }
  return start;
}
