/** Values into JSON texts. */

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
