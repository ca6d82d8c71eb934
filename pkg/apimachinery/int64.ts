/** Integers of 64 bits, in text as annotations carry them, and beyond 2^53, up to which numbers of JavaScript are exact. */

const integer = /^[+-]?[0-9]{1,4096}$/;

export function isInt64(value: bigint): boolean {
  return value === BigInt.asIntN(64, value);
}

export function isUint64(value: bigint): boolean {
  return value === BigInt.asUintN(64, value);
}

/** The decimal integer that the whole text is, undefined when it is none or has more than 64 bits (sign included). */
export function parseInt64(text: string): bigint | undefined {
  if (!integer.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return isInt64(value) ? value : undefined;
}

/**
 * An integer of 64 bits as values of the API hold it: a `number` up to ±(2^53-1), and a `bigint` only beyond, so that equal ones are
 * the same by `===`.
 */
export function int64Value(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** The integer that follows, as Go counts: after the largest comes the smallest. */
export function successor(value: number | bigint): number | bigint {
  const next = Number(value) + 1;
  return Number.isSafeInteger(next) ? next : int64Value(BigInt.asIntN(64, BigInt(value) + 1n));
}

/** For sorting: negative, zero or positive. */
export function compareInt64(a: number | bigint, b: number | bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
