/** The characters of a YAML text, and where among them a scanner is. */
import type { Mark } from '#apimachinery/codec/yaml/mark.js';
import { YamlError } from '#apimachinery/codec/yaml/yaml-error.js';

const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const nextLine = 0x85;
const lineSeparator = 0x2028;
const paragraphSeparator = 0x2029;
const byteOrderMarks = /^\ufeff{1,2}/;
/** Bytes of UTF-8 that 1.24 reads at once: what follows the first document is not looked at any further. */
const chunkBytes = 512;

/** Stands for the end of the text: no text of YAML has it. */
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

/** Of names: letters, digits, `_` and `-`. */
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
  /** What follows the text has characters that YAML does not have. */
  readonly #isCut: boolean;
  #at = 0;
  index = 0;
  line = 0;
  column = 0;

  /** Throws a YamlError for a text whose beginning has characters that YAML does not have. */
  constructor(text: string) {
    const whole = text.replace(byteOrderMarks, '');
    const wrong = whole.search(refused);
    this.#isCut = wrong >= 0;
    this.#text = this.#isCut ? whole.slice(0, chunkBefore(whole, wrong)) : whole;
    if (this.#isCut && this.#text === '') throw unreadable();
  }

  /** The code unit so many behind this one; `end` behind the text. Throws a YamlError where what is there cannot be read. */
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

  /** Passes over one character that is no line break. */
  skip(): void {
    const code = this.peek();
    this.#at += code >= 0xd800 && code < 0xdc00 ? 2 : 1;
    this.index++;
    this.column++;
  }

  /** Passes over one character and returns it. */
  read(): string {
    const from = this.#at;
    this.skip();
    return this.#text.slice(from, this.#at);
  }

  /** Passes over characters that are no line breaks, up to the first of which that is said (with its distance), and returns them. */
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

  /** Passes over a line break and returns it as it is in a text: nearly all are line feeds there. */
  readBreak(): string {
    const code = this.peek();
    const size = code === carriageReturn && this.peek(1) === lineFeed ? 2 : 1;
    this.#at += size;
    this.index += size;
    this.column = 0;
    this.line++;
    return code === lineSeparator || code === paragraphSeparator ? String.fromCharCode(code) : '\n';
  }

  /** Whether `---` or `...` begins the line here. */
  isAtDocumentIndicator(): boolean {
    if (this.column !== 0) return false;
    const code = this.peek();
    if (code !== 0x2d && code !== 0x2e) return false;
    return this.peek(1) === code && this.peek(2) === code && isBlankOrEnd(this.peek(3));
  }

  skipBlanks(): void {
    while (isBlank(this.peek())) this.skip();
  }

  /** Passes over a comment if there is one, up to the end of its line. */
  skipComment(): void {
    if (this.peek() !== 0x23) return;
    while (!isBreakOrEnd(this.peek())) this.skip();
  }
}

function unreadable(): YamlError {
  return new YamlError('control characters are not allowed');
}

/** Where the chunk begins that a character is in. */
function chunkBefore(text: string, at: number): number {
  let start = at;
  for (let left = Buffer.byteLength(text.slice(0, at)) % chunkBytes; left > 0; ) {
    start--;
    left -= Buffer.byteLength(text.charAt(start));
  }
  return start;
}
