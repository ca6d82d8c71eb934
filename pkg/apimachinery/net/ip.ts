/**
 * IP addresses and blocks of them: read, compared and written. Where a rule is laxer or stricter than another (leading
 * zeros, zones), there is a function for each, and users say which they mean by calling it.
 */
import { isIPv4, isIPv6 } from 'node:net';

/** 4, 6, or 0 for anything that is no address. Zones (`fe80::1%eth0`) are refused, as in 1.24. */
export function ipFamily(value: string): 0 | 4 | 6 {
  if (isIPv4(value)) return 4;
  return !value.includes('%') && isIPv6(value) ? 6 : 0;
}

/** The same with IPv4 addresses in IPv6 form (`::ffff:10.0.0.1`) counted as what they are, as 1.24 tells families apart. */
export function unmappedFamily(value: string): 0 | 4 | 6 {
  const family = ipFamily(value);
  if (family !== 6) return family;
  const bytes = ipBytes(value) ?? new Uint8Array(16);
  return bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff ? 4 : 6;
}

const dot = '.'.charCodeAt(0);
const zero = '0'.charCodeAt(0);

/** The sixteen bytes of an address; those of IPv4 come last, after the mapping prefix. Undefined when it is none. */
export function ipBytes(value: string): Uint8Array | undefined {
  const family = ipFamily(value);
  if (family === 0) return undefined;
  const bytes = new Uint8Array(16);
  if (family === 4) {
    bytes[10] = 0xff;
    bytes[11] = 0xff;
    let at = 12;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code === dot) at++;
      else bytes[at] = (bytes[at] as number) * 10 + code - zero;
    }
    return bytes;
  }
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(value);
  const hex = (high: string | undefined, low: string | undefined): string =>
    ((Number(high) << 8) | Number(low)).toString(16);
  const text = dotted === null ? value : `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}`;
  const [head = '', tail] = text.split('::');
  const groups = (part: string | undefined): number[] =>
    part === undefined || part === '' ? [] : part.split(':').map((g) => Number.parseInt(g, 16));
  const before = groups(head);
  const after = groups(tail);
  const all = [...before, ...new Array<number>(Math.max(0, 8 - before.length - after.length)).fill(0), ...after];
  all.forEach((group, i) => {
    bytes[2 * i] = group >> 8;
    bytes[2 * i + 1] = group & 0xff;
  });
  return bytes;
}

/** The four or sixteen bytes of an address, by its family. Undefined when it is none. */
export function addressBytes(value: string): Uint8Array | undefined {
  return ipFamily(value) === 4 ? ipBytes(value)?.subarray(12) : ipBytes(value);
}

/** An address as a number. Throws RangeError for what is none. */
export function addressToNumber(value: string): bigint {
  const bytes = addressBytes(value);
  if (bytes === undefined) throw new RangeError(`"${value}" is no IP address`);
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

/** The address of that number in a family. */
export function numberToAddress(value: bigint, family: 4 | 6): string {
  return formatAddress(Buffer.from(value.toString(16).padStart(family === 4 ? 8 : 32, '0'), 'hex'));
}

/** The one form of an address by which it can be compared. Undefined when it is none. */
export function canonicalAddress(value: string): string | undefined {
  const bytes = addressBytes(value);
  return bytes === undefined ? undefined : formatAddress(bytes);
}

export interface IPBlock {
  readonly family: 4 | 6;
  /** The network's first address, sixteen bytes. */
  readonly base: Uint8Array;
  /** Prefix length within the family: 0–32 or 0–128. */
  readonly prefix: number;
}

/** Parses `10.0.0.0/8`; undefined when it is no block, or its length has leading zeros. Host bits are dropped. */
export function parseCIDR(value: string): IPBlock | undefined {
  const match = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(value);
  return match === null ? undefined : blockAround(match[1] ?? '', Number(match[2]));
}

/** The block of that prefix length in which the address lies; undefined where there is none. */
export function blockAround(address: string, prefix: number): IPBlock | undefined {
  const family = ipFamily(address);
  const base = ipBytes(address);
  if (family === 0 || base === undefined || !(prefix <= (family === 4 ? 32 : 128))) return undefined;
  for (let i = 0; i < 16; i++) base[i] = (base[i] ?? 0) & maskByte(family, prefix, i);
  return { family, base, prefix };
}

/** True when the address lies in the block. */
export function blockContains(block: IPBlock, address: string): boolean {
  if (ipFamily(address) !== block.family) return false;
  const bytes = ipBytes(address);
  if (bytes === undefined) return false;
  for (let i = 0; i < 16; i++) {
    if (((bytes[i] ?? 0) & maskByte(block.family, block.prefix, i)) !== (block.base[i] ?? 0)) return false;
  }
  return true;
}

/** True when all of `inner` lies in the block. */
export function blockHolds(block: IPBlock, inner: IPBlock): boolean {
  if (inner.family !== block.family || inner.prefix < block.prefix) return false;
  for (let i = 0; i < 16; i++) {
    if (((inner.base[i] ?? 0) & maskByte(block.family, block.prefix, i)) !== (block.base[i] ?? 0)) return false;
  }
  return true;
}

/** One of the sixteen bytes of a block's mask. */
function maskByte(family: 4 | 6, prefix: number, i: number): number {
  const bits = family === 4 ? prefix + 96 : prefix;
  const kept = Math.min(8, Math.max(0, bits - 8 * i));
  return (0xff << (8 - kept)) & 0xff;
}

/** Writes four bytes as IPv4 and sixteen as IPv6, in the form of RFC 5952. */
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
