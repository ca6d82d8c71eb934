/** IPv4 ranges as numbers, for allocating subranges. */
import { addressBytes } from '#apimachinery/net/ip.js';

export interface IPv4Range {
  /** The first address as an unsigned 32-bit number. */
  readonly base: number;
  /** Prefix length, 0 to 32. */
  readonly bits: number;
  /** The number of addresses. */
  readonly size: number;
}

/** Parses `10.244.3.0/24`; drops host bits. Throws a RangeError for other text. */
export function parseIPv4Range(range: string): IPv4Range {
  const [address = '', length = '', ...rest] = range.split('/');
  const number = ipv4Number(address);
  const bits = Number(length);
  if (number === undefined || !/^\d+$/.test(length) || bits > 32 || rest.length > 0) {
    throw new RangeError(`"${range}" is no IPv4 range`);
  }
  const size = 2 ** (32 - bits);
  return { base: Math.floor(number / size) * size, bits, size };
}

/** The address as a number; undefined if invalid. */
export function ipv4Number(address: string): number | undefined {
  const bytes = addressBytes(address);
  return bytes?.length === 4 ? bytes.reduce((number, octet) => number * 256 + octet, 0) : undefined;
}

/** The number as an address: `10.0.0.1`. */
export function formatIPv4(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}
