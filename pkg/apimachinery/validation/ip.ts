/** IP addresses and blocks of them, as validation sees them. */
import { isIPv4, isIPv6 } from 'node:net';
import { noErrors } from '#apimachinery/validation/names.js';

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

/** Messages for something that must be an address of either family. */
export function ipErrors(value: string): readonly string[] {
  return ipFamily(value) === 0 ? ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'] : noErrors;
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

export interface IPBlock {
  readonly family: 4 | 6;
  /** The network's first address, sixteen bytes. */
  readonly base: Uint8Array;
  /** Prefix length within the family: 0–32 or 0–128. */
  readonly prefix: number;
}

/** Parses `10.0.0.0/8`; undefined when it is no block. Host bits are dropped. */
export function parseCIDR(value: string): IPBlock | undefined {
  const match = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(value);
  if (match === null) return undefined;
  const address = match[1] ?? '';
  const family = ipFamily(address);
  const base = ipBytes(address);
  const prefix = Number(match[2]);
  if (family === 0 || base === undefined || prefix > (family === 4 ? 32 : 128)) return undefined;
  const bits = family === 4 ? prefix + 96 : prefix;
  for (let i = 0; i < 16; i++) {
    const kept = Math.min(8, Math.max(0, bits - 8 * i));
    base[i] = (base[i] ?? 0) & (0xff << (8 - kept)) & 0xff;
  }
  return { family, base, prefix };
}

/** True when the address lies in the block. */
export function blockContains(block: IPBlock, address: string): boolean {
  if (ipFamily(address) !== block.family) return false;
  const bytes = ipBytes(address);
  if (bytes === undefined) return false;
  const bits = block.family === 4 ? block.prefix + 96 : block.prefix;
  for (let i = 0; i < 16; i++) {
    const kept = Math.min(8, Math.max(0, bits - 8 * i));
    const mask = (0xff << (8 - kept)) & 0xff;
    if (((bytes[i] ?? 0) & mask) !== (block.base[i] ?? 0)) return false;
  }
  return true;
}
