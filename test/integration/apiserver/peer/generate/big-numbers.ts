/** JSON texts with numbers that exceed doubles. */

const mark = '\u0001';

/** Represents a number in the argument of `jsonText`. */
export function bigNumber(digits: string): string {
  return `${mark}${digits}${mark}`;
}

/** As JSON.stringify, with the digits of `bigNumber` unchanged. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\u0001') ? text.replaceAll(/"\\u0001([^"]*)\\u0001"/g, '$1') : text;
}
