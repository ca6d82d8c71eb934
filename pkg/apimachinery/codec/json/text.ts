/** JSON texts into values, as Go reads them. */
import { NumberLiteral, numberOf } from '#apimachinery/json-text.js';

const backslash = 0x5c;

/** Index behind the string of a JSON text that starts at `at`; undefined where it has no end. */
export function endOfString(text: string, at: number): number | undefined {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
  return undefined;
}

/** True where `JSON.parse` loses nothing: of `text`, which is a number of JSON. */
function isPlain(text: string): boolean {
  const value = Number(text);
  return String(value) === text && (Number.isSafeInteger(value) || !Number.isInteger(value));
}

const zero = 0x30;
const nine = 0x39;
/** Digits of the smallest integer that a double may not hold. */
const longDigits = 16;

/**
 * Whether the text has as many digits in a row as an integer beyond ±(2^53-1) has: also in its strings. One character of
 * sixteen is looked at, which takes a fiftieth of the time of parsing.
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

/** Where a number with a fraction or an exponent may end: also in strings, but not in versions (`nginx:1.19`) and addresses. */
const fraction = /[:,[\s]-?\d+(?:\.\d+[^"./:\d]|[eE][+-]?\d)/;

/** Whether the text may have numbers that are not plain. */
function mayHaveLiterals(text: string): boolean {
  return mayHaveLongIntegers(text) || fraction.test(text);
}

/** Half of a surrogate pair: no string of a parsed text has it. */
const mark = '\ud800';
const tokens = /"(?:[^"\\]|\\[\s\S])*"|-?\d[\d.eE+-]*/g;
const numberToken = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The text with the numbers that are not plain in strings of their own: see `unmarked`. */
function withMarks(text: string): string {
  return text.replace(tokens, (token) =>
    token.startsWith('"') || !numberToken.test(token) || isPlain(token) ? token : `"\\ud800${token}"`,
  );
}

/** The value of a text `withMarks`, changed in place: what the numbers become, `of` says. */
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
 * What becomes of numbers that JSON.parse does not read as Go does. `values`: an integer beyond ±(2^53-1) that 64 bits hold is
 * a bigint. `literals`: those and all that are not written as `number`s are (`1.0`, `1e3`) are NumberLiterals, for fields that
 * take integers only.
 */
export type Numbers = 'values' | 'literals';

/**
 * JSON.parse, but for numbers (see `Numbers`), and that an escaped half of a surrogate pair becomes U+FFFD: strings are UTF-8
 * wherever else they go, which cannot hold a half. Throws a SyntaxError.
 */
export function parseJSONText(text: string, numbers: Numbers = 'values'): unknown {
  // Looking for two characters is several times faster than the expression, and few texts have them.
  const whole = !text.includes('\\u') || !anySurrogate.test(text) ? text : withoutHalves(text);
  const isPlain = numbers === 'values' ? !mayHaveLongIntegers(whole) : !mayHaveLiterals(whole);
  if (isPlain) return JSON.parse(whole);
  return unmarked(JSON.parse(withMarks(whole)), numbers === 'values' ? numberOf : literal);
}

const literal = (text: string) => new NumberLiteral(text);

function withoutHalves(text: string): string {
  return text.replace(escapes, (whole: string, half: string | undefined) => (half === undefined ? whole : '\\ufffd'));
}
