/** Pod addresses of a simulated node, of one family: assigned in order, then the longest unused first. */
import { addressBytes, blockContains, formatAddress, type IPBlock, parseCIDR } from '#apimachinery/net/ip.js';

/** More than any node has pods; bounds large IPv6 ranges. */
const maxAddresses = 65_536;

export class AddressPool {
  readonly #block: IPBlock;
  readonly #base: bigint;
  readonly #size: number;
  readonly #free: number[] = [];
  #next = 2;

  /** `cidr`: such as `10.244.3.0/24`; throws RangeError if it is invalid or too small. */
  constructor(cidr: string) {
    const block = parseCIDR(cidr);
    const hostBits = (block?.family === 4 ? 32 : 128) - (block?.prefix ?? 128);
    if (block === undefined || hostBits < 2) throw new RangeError(`"${cidr}" is too small for pods`);
    this.#block = block;
    this.#base = numberOf(block.family === 4 ? block.base.subarray(12) : block.base);
    this.#size = Math.min(2 ** hostBits, maxAddresses);
  }

  /** Undefined if all are in use. */
  allocate(): string | undefined {
    // Address 0 is the network, 1 the gateway, the last the broadcast.
    const offset = this.#next < this.#size - 1 ? this.#next++ : this.#free.shift();
    if (offset === undefined) return undefined;
    const digits = (this.#base + BigInt(offset)).toString(16);
    return formatAddress(Buffer.from(digits.padStart(this.#block.family === 4 ? 8 : 32, '0'), 'hex'));
  }

  /** Ignores addresses outside the pool, which may be of an earlier range. */
  release(ip: string): void {
    if (blockContains(this.#block, ip)) this.#free.push(Number(numberOf(addressBytes(ip) ?? []) - this.#base));
  }
}

function numberOf(bytes: Uint8Array | number[]): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}
