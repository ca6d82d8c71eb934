/** A CIDR's addresses by number. */
import { addressToNumber, formatAddress, ipFamily, numberToAddress, parseCIDR } from '#apimachinery/net/ip.js';

/** Limit of allocated addresses: a bitmap of 64 Ki addresses is 8 kB. */
const maxAddresses = 65_536;

export class IpRange {
  readonly cidr: string;
  readonly family: 'IPv4' | 'IPv6';
  readonly #base: bigint;
  readonly #total: bigint;

  /** Throws RangeError unless it is a CIDR with room for at least two addresses to allocate. */
  constructor(cidr: string) {
    const block = parseCIDR(cidr);
    if (block === undefined) throw new RangeError(`"${cidr}" is not a CIDR`);
    const bits = block.family === 4 ? 32 : 128;
    if (bits - block.prefix < 2)
      throw new RangeError(`"${cidr}" is too small: it needs room for at least two addresses`);
    this.family = `IPv${block.family}`;
    this.#total = 1n << BigInt(bits - block.prefix);
    this.#base = addressToNumber(formatAddress(block.base.subarray(block.family === 4 ? 12 : 0)));
    this.cidr = `${this.#text(this.#base)}/${block.prefix}`;
  }

  /** Number of addresses that can be allocated: without the network's own and, for IPv4, the broadcast address. */
  get size(): number {
    const usable = this.#total - (this.family === 'IPv4' ? 2n : 1n);
    return usable > BigInt(maxAddresses) ? maxAddresses : Number(usable);
  }

  /** The address at an offset; 0 is the first that can be allocated. */
  at(offset: number): string {
    return this.#text(this.#base + 1n + BigInt(offset));
  }

  /** The offset of an address; undefined if it cannot be allocated. */
  offsetOf(address: string): number | undefined {
    if (ipFamily(address) !== (this.family === 'IPv4' ? 4 : 6)) return undefined;
    const offset = addressToNumber(address) - this.#base - 1n;
    return offset >= 0n && offset < BigInt(this.size) ? Number(offset) : undefined;
  }

  #text(value: bigint): string {
    return numberToAddress(value, this.family === 'IPv4' ? 4 : 6);
  }
}
