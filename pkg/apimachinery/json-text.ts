/**
 * Values into JSON texts, and numbers of such texts that are not the `number` which JSON.parse makes of them. What the rest of
 * the program sees is a `number`, or a `bigint` for an integer of 64 bits beyond ±(2^53-1), up to which doubles are exact.
 */
import { parseInt64 } from '#apimachinery/int64.js';

/**
 * JSON.stringify, also of a value with bigints, which are written as the integers that they are. `indent`: blanks per level.
 * Never undefined: a value that JSON does not have is `null`.
 */
export function toJSONText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent) ?? 'null';
  } catch (error) {
    // What it says of a bigint; a value that is a part of itself throws it again.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, bigintMark, indent).replace(markedBigint, '$1');
  }
}

/** Half of a surrogate pair begins no string of a value: see `parseJSONText`. */
const bigintMark = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? `\ud800${value}` : value);
const markedBigint = /"\\ud800(-?[0-9]+)"/g;

const integer = /^-?[0-9]+$/;
/** Digits of the largest integer that any field takes, with room to spare: reading more takes long. */
const maxDigits = 64;

/**
 * A number as it was written, as long as it is not known what it is to be: `1.0` is no integer for a field of integers, and
 * a number for a field of doubles. It exists only between a parser and the walk over what was parsed.
 */
export class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The integer that it is written as; undefined for fractions, exponents and what is far too large. */
  get integer(): bigint | undefined {
    return integer.test(this.text) && this.text.length <= maxDigits ? BigInt(this.text) : undefined;
  }

  /** What 1.24 makes of it where no field says otherwise: see `numberOf`. */
  get value(): number | bigint {
    return numberOf(this.text);
  }

  toJSON(): number {
    return Number(this.text);
  }
}

/** An integer of 64 bits where it is written as one, and a double otherwise, infinite for what is beyond those. */
export function numberOf(text: string): number | bigint {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  return (integer.test(text) ? parseInt64(text) : undefined) ?? value;
}
