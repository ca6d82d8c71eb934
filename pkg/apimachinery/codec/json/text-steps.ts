/** Large JSON texts into values in steps: they are cut into pieces, since the parser itself knows no pause. */

import type { Steps } from '#apimachinery/async/steps.js';
import { endOfString, type Numbers, parseJSONText } from '#apimachinery/codec/json/text.js';
import { setMember } from '#apimachinery/collections/set-member.js';

export interface PieceSizes {
  /** Characters of a text that is worth it. */
  readonly largeText: number;
  /** Characters that are parsed in one step, some milliseconds. */
  readonly piece: number;
}

const usualSizes: PieceSizes = { largeText: 512 * 1024, piece: 128 * 1024 };

/** Lists and objects further inside are parsed as a whole: each level costs a look at a piece of text. */
const maxLevels = 12;

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The same value as `parseJSONText`, and the same SyntaxError. `sizes`: for tests. */
export function* parseJSONSteps(
  text: string,
  numbers: Numbers = 'values',
  sizes: PieceSizes = usualSizes,
): Steps<unknown> {
  if (text.length < sizes.largeText) return parseJSONText(text, numbers);
  try {
    return yield* new Pieces(text, numbers, sizes.piece).root();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // Says where in the whole text it is wrong.
    yield;
    return parseJSONText(text, numbers);
  }
}

type JsonObject = Record<string, unknown>;

class Pieces {
  readonly #text: string;
  readonly #numbers: Numbers;
  readonly #piece: number;
  /** Behind what is parsed. */
  #at = 0;

  constructor(text: string, numbers: Numbers, piece: number) {
    this.#text = text;
    this.#numbers = numbers;
    this.#piece = piece;
  }

  *root(): Steps<unknown> {
    this.#space();
    const value = yield* this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) throw new SyntaxError('something follows the value');
    return value;
  }

  *#value(level: number): Steps<unknown> {
    const start = this.#at;
    const code = this.#text.charCodeAt(start);
    const isContainer = code === openBrace || code === openBracket;
    if (isContainer && level < maxLevels && this.#end(start, this.#piece) === undefined) {
      this.#at++;
      yield;
      return yield* code === openBrace ? this.#object(level + 1) : this.#list(level + 1);
    }
    this.#at = this.#end(start, Number.POSITIVE_INFINITY) ?? this.#text.length;
    return parseJSONText(this.#text.slice(start, this.#at), this.#numbers);
  }

  *#list(level: number): Steps<unknown[]> {
    const list: unknown[] = [];
    /** Of the elements that are not parsed yet. */
    let start = this.#at;
    const flush = (end: number) => {
      if (end > start)
        for (const part of parseJSONText(`[${this.#text.slice(start, end)}]`, this.#numbers) as unknown[])
          list.push(part);
    };
    this.#space();
    if (this.#take(closeBracket)) return list;
    for (;;) {
      const from = this.#at;
      const end = this.#end(from, this.#piece);
      if (end === from) throw new SyntaxError('an element is missing');
      if (end === undefined) {
        flush(this.#withoutComma(start, from));
        this.#at = from;
        list.push(yield* this.#value(level));
        start = this.#at;
      } else this.#at = end;
      this.#space();
      const behind = this.#at;
      if (this.#take(closeBracket)) {
        flush(end === undefined ? start : behind);
        return list;
      }
      this.#expect(comma);
      if (end === undefined) start = this.#at;
      else if (behind - start >= this.#piece) {
        flush(behind);
        start = this.#at;
        yield;
      }
      this.#space();
    }
  }

  *#object(level: number): Steps<JsonObject> {
    let object: JsonObject | undefined;
    let start = this.#at;
    const flush = (end: number) => {
      if (end <= start) return;
      const part = parseJSONText(`{${this.#text.slice(start, end)}}`, this.#numbers) as JsonObject;
      if (object === undefined) object = part;
      else for (const name of Object.keys(part)) setMember(object, name, part[name]);
    };
    this.#space();
    if (this.#take(closeBrace)) return {};
    for (;;) {
      const from = this.#at;
      const name = this.#name();
      const end = this.#end(this.#at, this.#piece);
      if (end === this.#at) throw new SyntaxError('a value is missing');
      if (end === undefined) {
        flush(this.#withoutComma(start, from));
        object ??= {};
        setMember(object, JSON.parse(name) as string, yield* this.#value(level));
        start = this.#at;
      } else this.#at = end;
      this.#space();
      const behind = this.#at;
      if (this.#take(closeBrace)) {
        flush(end === undefined ? start : behind);
        return object ?? {};
      }
      this.#expect(comma);
      if (end === undefined) start = this.#at;
      else if (behind - start >= this.#piece) {
        flush(behind);
        start = this.#at;
        yield;
      }
      this.#space();
    }
  }

  /** The text of a member's name; what follows is its value. */
  #name(): string {
    const start = this.#at;
    if (this.#text.charCodeAt(start) !== quote) throw new SyntaxError('a name is missing');
    this.#at = this.#endOfString(start);
    const name = this.#text.slice(start, this.#at);
    this.#space();
    this.#expect(colon);
    this.#space();
    return name;
  }

  /** Where the elements before `from` end, of which there may be none. */
  #withoutComma(start: number, from: number): number {
    return from > start ? this.#text.lastIndexOf(',', from - 1) : start;
  }

  /** Index behind the value at `at`, which is checked only as far as it takes to find that; undefined: it is longer. */
  #end(at: number, most: number): number | undefined {
    const text = this.#text;
    const last = Math.min(text.length, at + most);
    let depth = 0;
    for (let i = at; i < last; i++) {
      switch (text.charCodeAt(i)) {
        case quote:
          i = this.#endOfString(i) - 1;
          if (depth === 0) return i + 1;
          break;
        case openBrace:
        case openBracket:
          depth++;
          break;
        case closeBrace:
        case closeBracket:
          if (depth === 0) return i;
          if (--depth === 0) return i + 1;
          break;
        case comma:
          if (depth === 0) return i;
          break;
      }
    }
    return last === text.length ? last : undefined;
  }

  /** Index behind the string that starts at `at`. */
  #endOfString(at: number): number {
    const end = endOfString(this.#text, at);
    if (end === undefined) throw new SyntaxError('a string has no end');
    return end;
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at++;
    }
  }

  #take(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false;
    this.#at++;
    return true;
  }

  #expect(code: number): void {
    if (!this.#take(code)) throw new SyntaxError(`${String.fromCharCode(code)} is missing`);
  }
}
