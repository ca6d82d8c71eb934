/** JSON texts with numbers that a double does not hold. */

const mark = '\u0001';

/** Stands for a number in what `jsonText` is given. */
export function bigNumber(digits: string): string {
  return `${mark}${digits}${mark}`;
}

/** Like JSON.stringify, with the digits of `bigNumber` as they are. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\u0001') ? text.replaceAll(/"\\u0001([^"]*)\\u0001"/g, '$1') : text;
}
