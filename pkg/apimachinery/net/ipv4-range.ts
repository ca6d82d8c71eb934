/** Ranges of IPv4 addresses as numbers, for those who hand out parts of them. */
import { addressBytes } from '#apimachinery/net/ip.js';

export interface IPv4Range {
  /** The first address, as a number of 32 bits without a sign. */
  readonly base: number;
  /** Prefix length, 0 to 32. */
  readonly bits: number;
  /** How many addresses there are. */
  readonly size: number;
}

/** Parses `10.244.3.0/24`; host bits are dropped. Throws RangeError for anything else. */
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

/** The address as a number; undefined for what is none. */
export function ipv4Number(address: string): number | undefined {
  const bytes = addressBytes(address);
  return bytes?.length === 4 ? bytes.reduce((number, octet) => number * 256 + octet, 0) : undefined;
}

/** `10.0.0.1` of its number. */
export function formatIPv4(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}
