/** JSON texts into values, as Go reads them. */
import { mayHaveLiterals, mayHaveLongIntegers, unmarked, withMarks } from '#apimachinery/codec/json/number-marks.js';
import { NumberLiteral, numberOf } from '#apimachinery/number-literal.js';

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
