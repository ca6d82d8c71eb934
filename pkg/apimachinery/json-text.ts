/**
 * Serializes values to JSON, and represents JSON numbers that `number` cannot hold exactly. After decoding, a number is
 * a `number`, or a `bigint` for a 64-bit integer beyond ±(2^53-1).
 */
import { parseInt64 } from '#apimachinery/int64.js';

/**
 * JSON.stringify that also supports bigints, written as integers. `indent`: spaces per level. Never undefined: a value
 * without JSON form is `null`.
 */
export function toJSONText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent) ?? 'null';
  } catch (error) {
    // JSON.stringify throws a TypeError for bigints; for cycles the second call throws it again.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, bigintMark, indent).replace(markedBigint, '$1');
  }
}

/** No string of a value starts with a lone surrogate: see `parseJSONText`. */
const bigintMark = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? `\ud800${value}` : value);
const markedBigint = /"\\ud800(-?[0-9]+)"/g;

const integer = /^-?[0-9]+$/;
/** More digits than any integer field accepts: parsing longer texts is expensive. */
const maxDigits = 64;

/**
 * A number as written, while the type of its field is unknown: `1.0` is invalid for an integer field and valid for a
 * double. It exists only between the parser and the walk over its result.
 */
export class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The integer as written; undefined for fractions, exponents and numbers that are far too large. */
  get integer(): bigint | undefined {
    return integer.test(this.text) && this.text.length <= maxDigits ? BigInt(this.text) : undefined;
  }

  /** The value in 1.24 if no field determines the type: see `numberOf`. */
  get value(): number | bigint {
    return numberOf(this.text);
  }

  toJSON(): number {
    return Number(this.text);
  }
}

/** A 64-bit integer if it is written as one, or else a double; infinite if out of range. */
export function numberOf(text: string): number | bigint {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  return (integer.test(text) ? parseInt64(text) : undefined) ?? value;
}
