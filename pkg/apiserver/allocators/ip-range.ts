/** A range of IP addresses given as a CIDR, as numbers. */
import { isIP, isIPv4 } from 'node:net';
import { addressBytes } from '#daemon/pki/certificate.js';

/** Addresses beyond this many are not handed out: a bitmap of 64 Ki addresses is 8 kB. */
const maxAddresses = 65_536;

export class IpRange {
  readonly cidr: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly #base: bigint;
  readonly #total: bigint;

  /** Throws RangeError for anything but a CIDR with room for at least two addresses to hand out. */
  constructor(cidr: string) {
    const [address = '', prefix = '', ...rest] = cidr.split('/');
    const version = isIP(address);
    const bits = version === 4 ? 32 : 128;
    const length = Number(prefix);
    if (version === 0 || rest.length > 0 || !/^\d+$/.test(prefix) || length > bits)
      throw new RangeError(`"${cidr}" is no CIDR`);
    if (bits - length < 2) throw new RangeError(`"${cidr}" has no room for addresses`);
    this.family = version === 4 ? 'IPv4' : 'IPv6';
    this.#total = 1n << BigInt(bits - length);
    this.#base = (number(address) / this.#total) * this.#total;
    this.cidr = `${text(this.#base, this.family)}/${length}`;
  }

  /** Addresses that can be handed out: without the network's own and, in IPv4, the broadcast address. */
  get size(): number {
    const usable = this.#total - (this.family === 'IPv4' ? 2n : 1n);
    return usable > BigInt(maxAddresses) ? maxAddresses : Number(usable);
  }

  /** The address at an offset; 0 is the first that can be handed out. */
  at(offset: number): string {
    return text(this.#base + 1n + BigInt(offset), this.family);
  }

  /** The offset of an address, undefined outside of what can be handed out. Throws nothing. */
  offsetOf(address: string): number | undefined {
    if (isIP(address) === 0 || isIPv4(address) !== (this.family === 'IPv4')) return undefined;
    const offset = number(address) - this.#base - 1n;
    return offset >= 0n && offset < BigInt(this.size) ? Number(offset) : undefined;
  }
}

function number(address: string): bigint {
  return BigInt(`0x${addressBytes(address).toString('hex')}`);
}

function text(value: bigint, family: 'IPv4' | 'IPv6'): string {
  const hex = value.toString(16).padStart(family === 'IPv4' ? 8 : 32, '0');
  if (family === 'IPv4') return (hex.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)).join('.');
  return compress((hex.match(/.{4}/g) ?? []).map((group) => Number.parseInt(group, 16).toString(16)));
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
