/** Scans YAML scalars: plain, quoted and block texts. */
import {
  type Cursor,
  end,
  isBlank,
  isBlankOrEnd,
  isBreak,
  isBreakOrEnd,
  isDigit,
} from '#apimachinery/codec/yaml/cursor.js';
import type { Mark } from '#apimachinery/codec/yaml/tokens.js';
import { scanError } from '#apimachinery/codec/yaml/yaml-error.js';

const quote = 0x22;
const apostrophe = 0x27;
const colon = 0x3a;
const backslash = 0x5c;

/** White space inside a text: blanks, or line breaks with surrounding blanks. */
class Gap {
  blanks = '';
  /** The first line break; empty if there is none. */
  first = '';
  breaks = '';
  /** A new line began: following blanks are indentation. */
  isFolded = false;

  /** Reads all following blanks and line breaks. */
  read(cursor: Cursor, onBlank?: () => void): void {
    for (let code = cursor.peek(); isBlank(code) || isBreak(code); code = cursor.peek()) {
      if (isBlank(code)) {
        onBlank?.();
        if (this.isFolded) cursor.skip();
        else this.blanks += cursor.read();
      } else if (this.isFolded) this.breaks += cursor.readBreak();
      else {
        this.blanks = '';
        this.first += cursor.readBreak();
        this.isFolded = true;
      }
    }
  }

  /** Its folded text: a single line break becomes a space, several lose one. */
  get text(): string {
    if (!this.isFolded) return this.blanks;
    if (!this.first.startsWith('\n')) return this.first + this.breaks;
    return this.breaks === '' ? ' ' : this.breaks;
  }
}

export interface PlainScalar {
  readonly value: string;
  /** The text ends with a line break, after which a key may follow. */
  readonly endsLine: boolean;
}

const endsInFlow = new Set([...',?[]{}'].map((character) => character.charCodeAt(0)));

/** `indent`: of the enclosing block. */
export function scanPlain(
  cursor: Cursor,
  { indent, inFlow }: { readonly indent: number; readonly inFlow: boolean },
): PlainScalar {
  const start = cursor.mark();
  const least = indent + 1;
  const isEnd = (code: number, distance: number): boolean =>
    isBlankOrEnd(code) ||
    (code === colon && isBlankOrEnd(cursor.peek(distance + 1))) ||
    (inFlow && endsInFlow.has(code));
  let value = '';
  let gap = new Gap();
  for (;;) {
    if (cursor.isAtDocumentIndicator() || cursor.peek() === 0x23) break;
    const word = cursor.readUntil(isEnd);
    if (word !== '') {
      value += gap.text + word;
      if (gap.isFolded || gap.blanks !== '') gap = new Gap();
    }
    const code = cursor.peek();
    if (!(isBlank(code) || isBreak(code))) break;
    const current = gap;
    current.read(cursor, () => {
      if (current.isFolded && cursor.column < least && cursor.peek() === 0x09) {
        throw scanError('found a tab character that violates indentation', cursor, start);
      }
    });
    if (!inFlow && cursor.column < least) break;
  }
  return { value, endsLine: gap.isFolded };
}

/** Single or double quotes. */
export function scanQuoted(cursor: Cursor): string {
  const start = cursor.mark();
  const delimiter = cursor.peek();
  const isEnd = (code: number): boolean =>
    isBlankOrEnd(code) || code === delimiter || (code === backslash && delimiter === quote);
  cursor.skip();
  let value = '';
  for (;;) {
    if (cursor.isAtDocumentIndicator()) throw scanError('found unexpected document indicator', cursor, start);
    if (cursor.peek() === end) throw scanError('found unexpected end of stream', cursor, start);
    const gap = new Gap();
    for (let code = cursor.peek(); !isBlankOrEnd(code); code = cursor.peek()) {
      if (code === apostrophe && delimiter === apostrophe && cursor.peek(1) === apostrophe) {
        value += "'";
        cursor.skip();
        cursor.skip();
      } else if (code === delimiter) break;
      else if (code === backslash && delimiter === quote && isBreak(cursor.peek(1))) {
        cursor.skip();
        cursor.readBreak();
        gap.isFolded = true;
        break;
      } else if (code === backslash && delimiter === quote) value += scanEscape(cursor, start);
      else value += cursor.readUntil(isEnd);
    }
    if (cursor.peek() === delimiter) break;
    const isEscaped = gap.isFolded;
    gap.read(cursor);
    // An escaped line break disappears; the following ones stay.
    value += isEscaped ? gap.breaks : gap.text;
  }
  cursor.skip();
  return value;
}

const escapes: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  "'": "'",
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
};

const codeLengths: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

function scanEscape(cursor: Cursor, start: Mark): string {
  const name = String.fromCharCode(cursor.peek(1));
  const length = Object.hasOwn(codeLengths, name) ? (codeLengths[name] as number) : 0;
  if (length === 0) {
    if (!Object.hasOwn(escapes, name)) throw scanError('found unknown escape character', cursor, start);
    cursor.skip();
    cursor.skip();
    return escapes[name] as string;
  }
  cursor.skip();
  cursor.skip();
  let digits = '';
  for (let i = 0; i < length; i++) digits += String.fromCharCode(cursor.peek(i));
  if (!/^[0-9A-Fa-f]+$/.test(digits)) throw scanError('did not find expected hexdecimal number', cursor, start);
  const code = Number.parseInt(digits, 16);
  if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) {
    throw scanError('found invalid Unicode character escape code', cursor, start);
  }
  for (let i = 0; i < length; i++) cursor.skip();
  return String.fromCodePoint(code);
}

/** A block after `|` or `>`. `indent`: of the enclosing block. */
export function scanBlock(
  cursor: Cursor,
  { indent: outer, literal }: { readonly indent: number; readonly literal: boolean },
): string {
  const start = cursor.mark();
  cursor.skip();
  const { chomping, increment } = scanHeader(cursor, start);
  const lines = new BlockLines(cursor, start, outer, increment === 0 ? 0 : Math.max(outer, 0) + increment);
  let value = '';
  let lineBreak = '';
  let breaks = lines.skipEmpty();
  let wasIndented = false;
  while (cursor.column === lines.indent && cursor.peek() !== end) {
    const isIndented = isBlank(cursor.peek());
    if (!literal && !wasIndented && !isIndented && lineBreak.startsWith('\n')) value += breaks === '' ? ' ' : '';
    else value += lineBreak;
    value += breaks;
    wasIndented = isIndented;
    value += cursor.readUntil(isBreakOrEnd);
    lineBreak = isBreak(cursor.peek()) ? cursor.readBreak() : '';
    breaks = lines.skipEmpty();
  }
  if (chomping !== '-') value += lineBreak;
  if (chomping === '+') value += breaks;
  return value;
}

function scanHeader(cursor: Cursor, start: Mark): { chomping: string; increment: number } {
  let chomping = '';
  let increment = 0;
  const scanChomping = (): void => {
    const code = cursor.peek();
    if (chomping === '' && (code === 0x2b || code === 0x2d)) chomping = cursor.read();
  };
  scanChomping();
  if (isDigit(cursor.peek())) {
    if (cursor.peek() === 0x30) throw scanError('found an indentation indicator equal to 0', cursor, start);
    increment = Number(cursor.read());
    scanChomping();
  }
  cursor.skipBlanks();
  cursor.skipComment();
  if (!isBreakOrEnd(cursor.peek())) throw scanError('did not find expected comment or line break', cursor, start);
  if (isBreak(cursor.peek())) cursor.readBreak();
  return { chomping, increment };
}

/** The lines of a block; the first line that is not empty determines an unknown indentation. */
class BlockLines {
  readonly #cursor: Cursor;
  readonly #start: Mark;
  readonly #outer: number;
  /** Zero if unknown. */
  indent: number;

  constructor(cursor: Cursor, start: Mark, outer: number, indent: number) {
    this.#cursor = cursor;
    this.#start = start;
    this.#outer = outer;
    this.indent = indent;
  }

  /** Skips indentation and empty lines; returns their line breaks. */
  skipEmpty(): string {
    const cursor = this.#cursor;
    const isBefore = (): boolean => this.indent === 0 || cursor.column < this.indent;
    let breaks = '';
    let most = 0;
    for (;;) {
      while (isBefore() && cursor.peek() === 0x20) cursor.skip();
      most = Math.max(most, cursor.column);
      if (isBefore() && cursor.peek() === 0x09) {
        throw scanError('found a tab character where an indentation space is expected', cursor, this.#start);
      }
      if (!isBreak(cursor.peek())) break;
      breaks += cursor.readBreak();
    }
    if (this.indent === 0) this.indent = Math.max(most, this.#outer + 1, 1);
    return breaks;
  }
}
