/**
 * 64-bit integers: decimal text, as in annotations, and values beyond 2^53, up to which JavaScript numbers are exact.
 */

const integer = /^[+-]?[0-9]{1,4096}$/;

export function isInt64(value: bigint): boolean {
  return value === BigInt.asIntN(64, value);
}

export function isUint64(value: bigint): boolean {
  return value === BigInt.asUintN(64, value);
}

/** Parses the whole text as a decimal integer; undefined if it is invalid or exceeds 64 bits (with sign). */
export function parseInt64(text: string): bigint | undefined {
  if (!integer.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return isInt64(value) ? value : undefined;
}

/** A 64-bit integer in API values: a `number` up to ±(2^53-1), a `bigint` beyond, so that `===` compares them. */
export function int64Value(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** The next integer; wraps around like Go's int64. */
export function successor(value: number | bigint): number | bigint {
  const next = Number(value) + 1;
  return Number.isSafeInteger(next) ? next : int64Value(BigInt.asIntN(64, BigInt(value) + 1n));
}

/** For sorting: negative, zero or positive. */
export function compareInt64(a: number | bigint, b: number | bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
