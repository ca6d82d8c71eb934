/** Parses JSON text like Go, either at once or in steps, which parse large texts piece by piece. */
import type { Steps } from '#apimachinery/async/steps.js';
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  JSONCursor,
  openBrace,
  openBracket,
} from '#apimachinery/codec/json/cursor.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { NumberLiteral, numberOf } from '#apimachinery/json-text.js';

/** True if `JSON.parse` represents the number exactly as written. */
function isPlain(text: string): boolean {
  const value = Number(text);
  return String(value) === text && (Number.isSafeInteger(value) || !Number.isInteger(value));
}

const zero = 0x30;
const nine = 0x39;
/** Digits of the smallest integer that a double may not represent. */
const longDigits = 16;

/**
 * Whether the text, including its strings, has as many consecutive digits as an integer beyond ±(2^53-1). Checks every
 * sixteenth character, at a fiftieth of the cost of parsing.
 */
function mayHaveLongIntegers(text: string): boolean {
  for (let at = longDigits - 1; at < text.length; at += longDigits) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let first = at;
    while (first > 0 && isDigit(text.charCodeAt(first - 1))) first--;
    while (isDigit(text.charCodeAt(at + 1))) at++;
    if (at - first >= longDigits - 1) return true;
  }
  return false;
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine;
}

/** Matches the end of a possible number with fraction or exponent, but not versions (`nginx:1.19`) and addresses. */
const fraction = /[:,[\s]-?\d+(?:\.\d+[^"./:\d]|[eE][+-]?\d)/;

/** Whether the text may contain numbers that are not plain. */
function mayHaveLiterals(text: string): boolean {
  return mayHaveLongIntegers(text) || fraction.test(text);
}

/** A lone surrogate: no string of a parsed text contains one. */
const mark = '\ud800';
const tokens = /"(?:[^"\\]|\\[\s\S])*"|-?\d[\d.eE+-]*/g;
const numberToken = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The text with all numbers that are not plain as marked strings: see `unmarked`. */
function withMarks(text: string): string {
  return text.replace(tokens, (token) =>
    token.startsWith('"') || !numberToken.test(token) || isPlain(token) ? token : `"\\ud800${token}"`,
  );
}

/** Replaces the marked strings of a value in place by `of` their numbers. */
function unmarked(value: unknown, of: (text: string) => unknown): unknown {
  const holder: unknown[] = [value];
  const open: object[] = [holder];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    for (const key of Object.keys(part)) {
      const member: unknown = Reflect.get(part, key);
      if (typeof member === 'object' && member !== null) open.push(member);
      else if (typeof member === 'string' && member.startsWith(mark)) {
        Object.defineProperty(part, key, {
          value: of(member.slice(1)),
          enumerable: true,
          writable: true,
          configurable: true,
        });
      }
    }
  }
  return holder[0];
}

const anySurrogate = /\\u[dD][89a-fA-F]/;
const escapes =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|[\s\S])/g;

/**
 * The result for numbers that JSON.parse reads differently than Go. `values`: a 64-bit integer beyond ±(2^53-1) is a
 * bigint. `literals`: these, and all numbers not in the canonical form of a `number` (`1.0`, `1e3`), are
 * NumberLiterals, for fields that accept integers only.
 */
export type Numbers = 'values' | 'literals';

/**
 * JSON.parse, except for numbers (see `Numbers`) and escaped lone surrogates, which become U+FFFD because UTF-8 cannot
 * represent them. Throws a SyntaxError.
 */
export function parseJSONText(text: string, numbers: Numbers = 'values'): unknown {
  // Searching for two characters is several times faster than the expression, and few texts contain them.
  const whole = !text.includes('\\u') || !anySurrogate.test(text) ? text : withoutHalves(text);
  const isPlain = numbers === 'values' ? !mayHaveLongIntegers(whole) : !mayHaveLiterals(whole);
  if (isPlain) return JSON.parse(whole);
  return unmarked(JSON.parse(withMarks(whole)), numbers === 'values' ? numberOf : literal);
}

const literal = (text: string) => new NumberLiteral(text);

function withoutHalves(text: string): string {
  return text.replace(escapes, (whole: string, half: string | undefined) => (half === undefined ? whole : '\\ufffd'));
}

export interface PieceSizes {
  /** Minimum size in bytes for parsing in steps. */
  readonly largeText: number;
  /** Bytes per step, some milliseconds. */
  readonly piece: number;
}

const usualSizes: PieceSizes = { largeText: 512 * 1024, piece: 128 * 1024 };

/** Deeper lists and objects are parsed as a whole: each level costs another scan of the piece. */
const maxLevels = 12;

/** Parses like `parseJSONText`, with the same errors, but in steps: the runtime's parser cannot pause. */
export function* parseJSONSteps(
  bytes: Buffer,
  numbers: Numbers = 'values',
  sizes: PieceSizes = usualSizes,
): Steps<unknown> {
  if (bytes.length < sizes.largeText) return parseJSONText(bytes.toString(), numbers);
  try {
    return yield* new Pieces(bytes, numbers, sizes.piece).root();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // Reports the error's position in the whole text.
    yield;
    return parseJSONText(bytes.toString(), numbers);
  }
}

type Container = Record<string, unknown> | unknown[];

class Pieces {
  readonly #bytes: Buffer;
  readonly #numbers: Numbers;
  readonly #piece: number;
  readonly #cursor: JSONCursor;

  constructor(bytes: Buffer, numbers: Numbers, piece: number) {
    this.#bytes = bytes;
    this.#numbers = numbers;
    this.#piece = piece;
    this.#cursor = new JSONCursor(bytes);
  }

  *root(): Steps<unknown> {
    const value = yield* this.#value(0);
    if (this.#cursor.next() >= 0) throw new SyntaxError('something follows the value');
    return value;
  }

  *#value(level: number): Steps<unknown> {
    const cursor = this.#cursor;
    const first = cursor.next();
    const start = cursor.at;
    if (level < maxLevels && (first === openBrace || first === openBracket) && !this.#skipShort()) {
      cursor.seek(start + 1);
      yield;
      return yield* this.#parts(first === openBrace ? {} : [], level + 1);
    }
    cursor.seek(start);
    cursor.skipWhole();
    return parseJSONText(this.#bytes.toString('utf8', start, cursor.at), this.#numbers);
  }

  /** Parses the rest of a list or object; consecutive parts that fit into a piece are parsed together. */
  *#parts(target: Container, level: number): Steps<Container> {
    const cursor = this.#cursor;
    const close = Array.isArray(target) ? closeBracket : closeBrace;
    /** The range of parts that are not parsed yet. */
    let from = cursor.at;
    let to = from;
    if (cursor.take(close)) return target;
    do {
      if (to - from >= this.#piece) {
        this.#put(target, from, to);
        from = cursor.at;
        yield;
      }
      const name = Array.isArray(target) ? undefined : cursor.name();
      if (isEnd(cursor.next())) throw new SyntaxError('a value is missing');
      const start = cursor.at;
      if (this.#skipShort()) to = cursor.at;
      else {
        cursor.seek(start);
        if (to > from) this.#put(target, from, to);
        const value = yield* this.#value(level);
        if (name === undefined) (target as unknown[]).push(value);
        else setMember(target as Record<string, unknown>, name, value);
        // After the comma, if there is one.
        from = cursor.next() === comma ? cursor.at + 1 : cursor.at;
        to = from;
      }
    } while (cursor.take(comma));
    if (!cursor.take(close)) throw new SyntaxError('a comma is missing');
    if (to > from) this.#put(target, from, to);
    return target;
  }

  /** Adds the parts of that range. */
  #put(target: Container, from: number, to: number): void {
    const text = this.#bytes.toString('utf8', from, to);
    if (Array.isArray(target)) {
      for (const part of parseJSONText(`[${text}]`, this.#numbers) as unknown[]) target.push(part);
      return;
    }
    const members = parseJSONText(`{${text}}`, this.#numbers) as Record<string, unknown>;
    for (const name of Object.keys(members)) setMember(target, name, members[name]);
  }

  /** Moves past the value that begins here; false if it is larger than a piece. */
  #skipShort(): boolean {
    const cursor = this.#cursor;
    cursor.end = Math.min(this.#bytes.length, cursor.at + this.#piece);
    const isShort = cursor.skip();
    cursor.end = this.#bytes.length;
    return isShort;
  }
}

function isEnd(byte: number): boolean {
  return byte < 0 || byte === comma || byte === colon || byte === closeBrace || byte === closeBracket;
}
