/** The checksum of bytes that are put together, from those of the parts (as zlib's `crc32_combine` has it). Pure. */

/** Of the polynomial, lowest power in the highest bit. */
const polynomial = 0xedb88320;

/** The product of two polynomials. */
function product(a: number, b: number): number {
  let sum = 0;
  let factor = b;
  for (let bit = 0x80000000; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) sum ^= factor;
    factor = (factor & 1) === 0 ? factor >>> 1 : (factor >>> 1) ^ polynomial;
  }
  return sum >>> 0;
}

/** x to the power of 2 to the power of the index. */
const powers: readonly number[] = Array.from({ length: 31 }).reduce<number[]>(
  (known) => {
    const last = known.at(-1) as number;
    return [...known, product(last, last)];
  },
  [0x40000000],
);

/** The checksum of `length` zero bytes behind a byte: what the one before them is multiplied with. */
function shift(length: number): number {
  let result = 0x80000000;
  // A byte is eight bits, so that it begins at the third power.
  for (let left = length, power = 3; left > 0; left = Math.floor(left / 2), power++) {
    if (left % 2 === 1) result = product(powers[power % 32] as number, result);
  }
  return result;
}

/** The checksum of bytes with `first` and of the `length` bytes behind them with `second`. */
export function combinedCrc32(first: number, second: number, length: number): number {
  return (product(shift(length), first) ^ second) >>> 0;
}
