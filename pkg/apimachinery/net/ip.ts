/** IP addresses and CIDR blocks, parsed like those in API objects and flags of release 1.24 (`parse-ip.ts`). */
import { parseAddress } from '#apimachinery/net/parse-ip.js';

/** 4, 6, or 0 if it is not an address. */
export function ipFamily(value: string): 0 | 4 | 6 {
  return parseAddress(value)?.family ?? 0;
}

/** The sixteen bytes of an address; IPv4 uses the last four, after the mapping prefix. Undefined if invalid. */
export function ipBytes(value: string): Uint8Array | undefined {
  return parseAddress(value)?.bytes;
}

/** The four or sixteen bytes of an address, by its family. Undefined if invalid. */
export function addressBytes(value: string): Uint8Array | undefined {
  const parsed = parseAddress(value);
  return parsed?.family === 4 ? parsed.bytes.subarray(12) : parsed?.bytes;
}

/** The address as a number. Throws a RangeError if invalid. */
export function addressToNumber(value: string): bigint {
  const bytes = addressBytes(value);
  if (bytes === undefined) throw new RangeError(`"${value}" is no IP address`);
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

/** The address with that number. */
export function numberToAddress(value: bigint, family: 4 | 6): string {
  return formatAddress(Buffer.from(value.toString(16).padStart(family === 4 ? 8 : 32, '0'), 'hex'));
}

/** The canonical form of an address, for comparison. Undefined if invalid. */
export function canonicalAddress(value: string): string | undefined {
  const bytes = addressBytes(value);
  return bytes === undefined ? undefined : formatAddress(bytes);
}

export interface IPBlock {
  readonly family: 4 | 6;
  /** The network address, sixteen bytes. */
  readonly base: Uint8Array;
  /** Prefix length within the family: 0–32 or 0–128. */
  readonly prefix: number;
}

/** Parses `10.0.0.0/8`; undefined if invalid. Drops host bits; the length may have leading zeros. */
export function parseCIDR(value: string): IPBlock | undefined {
  const match = /^([^/]+)\/(\d+)$/.exec(value);
  if (match === null) return undefined;
  const [, address = '', length] = match;
  const isLong = address.includes(':');
  const prefix = Number(length);
  if (!isLong || ipFamily(address) !== 4) return blockAround(address, prefix);
  // The length of an IPv4-mapped prefix includes the 96 bits of the mapping; shorter ones mask the mapping.
  return prefix >= 96 ? blockAround(address, prefix - 96) : blockAround('::', prefix);
}

/** The block with that prefix length around the address; undefined if there is none. */
export function blockAround(address: string, prefix: number): IPBlock | undefined {
  const parsed = parseAddress(address);
  if (parsed === undefined || !(prefix <= (parsed.family === 4 ? 32 : 128))) return undefined;
  const { bytes: base, family } = parsed;
  for (let i = 0; i < 16; i++) base[i] = (base[i] ?? 0) & maskByte(family, prefix, i);
  return { family, base, prefix };
}

/** True if the address is in the block. */
export function blockContains(block: IPBlock, address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed?.family !== block.family) return false;
  const { bytes } = parsed;
  for (let i = 0; i < 16; i++) {
    if (((bytes[i] ?? 0) & maskByte(block.family, block.prefix, i)) !== (block.base[i] ?? 0)) return false;
  }
  return true;
}

/** True if all of `inner` is in the block. */
export function blockHolds(block: IPBlock, inner: IPBlock): boolean {
  if (inner.family !== block.family || inner.prefix < block.prefix) return false;
  for (let i = 0; i < 16; i++) {
    if (((inner.base[i] ?? 0) & maskByte(block.family, block.prefix, i)) !== (block.base[i] ?? 0)) return false;
  }
  return true;
}

/** One of the sixteen mask bytes of a block. */
function maskByte(family: 4 | 6, prefix: number, i: number): number {
  const bits = family === 4 ? prefix + 96 : prefix;
  const kept = Math.min(8, Math.max(0, bits - 8 * i));
  return (0xff << (8 - kept)) & 0xff;
}

/** Formats four bytes as IPv4 and sixteen as IPv6, in the form of RFC 5952. */
export function formatAddress(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, i) =>
    (((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16),
  );
  return compress(groups);
}

/** RFC 5952: the longest run of at least two zero groups becomes `::`. */
function compress(groups: readonly string[]): string {
  let best = { start: -1, length: 1 };
  for (let start = 0; start < groups.length; start += 1) {
    let length = 0;
    while (groups[start + length] === '0') length += 1;
    if (length > best.length) best = { start, length };
  }
  if (best.start < 0) return groups.join(':');
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`;
}
