/** Parts of a gzip member, for joining compressed blocks. Its CRC-32 is combined as by zlib's `crc32_combine`. */

/** The polynomial of CRC-32, lowest power at the highest bit. */
const polynomial = 0xedb88320;
/** x⁰ in the same order of bits. */
const one = 0x80000000;

/** a·b modulo the polynomial. */
function multiply(a: number, b: number): number {
  let product = 0;
  let power = b;
  for (let bit = one; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= power;
    power = (power & 1) !== 0 ? (power >>> 1) ^ polynomial : power >>> 1;
  }
  return product >>> 0;
}

/** x to the power of 2ⁿ for n up to 31, by squaring; the powers repeat after that. */
const squares: readonly number[] = (() => {
  const powers = [0x40000000];
  for (let n = 1; n < 32; n++) powers.push(multiply(powers[n - 1] as number, powers[n - 1] as number));
  return powers;
})();

/** x to the power of 8·`bytes`: the effect of `bytes` more bytes on a checksum. */
function shiftBy(bytes: number): number {
  let shift = one;
  let n = 3;
  for (let rest = bytes; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) shift = multiply(squares[n % 32] as number, shift);
    n++;
  }
  return shift >>> 0;
}

/** The checksum of `a` followed by `b`, where `b` has `bytes` bytes. */
export function combineCrc32(a: number, b: number, bytes: number): number {
  return (multiply(shiftBy(bytes), a) ^ b) >>> 0;
}

/** The head of a member, without name, time or operating system. */
export const gzipHead = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);

/** Length of the tail: an empty last block, the checksum and the length. */
export const gzipTailBytes = 10;

/** The tail of a member that contains `length` uncompressed bytes with the checksum `crc`. */
export function gzipTail(crc: number, length: number): Buffer {
  const tail = Buffer.alloc(gzipTailBytes);
  tail[0] = 3;
  tail.writeUInt32LE(crc, 2);
  tail.writeUInt32LE(length % 2 ** 32, 6);
  return tail;
}
