/**
 * Divides a range into blocks of one size and tracks which blocks are in use. All operations on a block take constant
 * time: the free blocks form a linked ring in the order of allocation.
 */
import { formatAddress, type IPBlock } from '#apimachinery/net/ip.js';

/** At most 65 536 blocks per range, as in 1.24. */
export const maxBlockBits = 16;

export interface Span {
  readonly first: number;
  readonly last: number;
}

export class CidrSet {
  readonly family: 4 | 6;
  /** For example `10.244.0.0/16`. */
  readonly range: string;
  /** The number of blocks. */
  readonly size: number;
  readonly #base: bigint;
  readonly #prefix: number;
  /** Host bits of a block. */
  readonly #shift: bigint;
  readonly #onUse: (change: 'allocations' | 'releases') => void;
  /** The number of holders of each block. Users can write a block to several nodes. */
  readonly #holders: Int32Array;
  /** The ring of free blocks; the last entry is its head. */
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  #used = 0;

  /**
   * @param prefix Prefix length of the blocks. Throws RangeError when it is shorter than the range's prefix, or more than
   * `maxBlockBits` longer.
   * @param onUse Called when a block comes into use or becomes free.
   */
  constructor(range: IPBlock, prefix: number, onUse: (change: 'allocations' | 'releases') => void = () => undefined) {
    const bits = prefix - range.prefix;
    if (!(bits >= 0 && bits <= maxBlockBits)) throw new RangeError(`cannot divide a /${range.prefix} into /${prefix}`);
    this.family = range.family;
    this.range = `${text(number(range), range.family)}/${range.prefix}`;
    this.size = 2 ** bits;
    this.#base = number(range);
    this.#prefix = prefix;
    this.#shift = BigInt((range.family === 4 ? 32 : 128) - prefix);
    this.#onUse = onUse;
    this.#holders = new Int32Array(this.size);
    this.#next = Int32Array.from({ length: this.size + 1 }, (_, i) => (i + 1) % (this.size + 1));
    this.#previous = Int32Array.from({ length: this.size + 1 }, (_, i) => (i + this.size) % (this.size + 1));
  }

  get used(): number {
    return this.#used;
  }

  get hasFree(): boolean {
    return this.#used < this.size;
  }

  /** Allocates a free block: unused blocks in order, then the block that was free the longest. */
  allocate(): Span | undefined {
    if (!this.hasFree) return undefined;
    const first = this.#next[this.size] ?? 0;
    const span = { first, last: first };
    this.hold(span);
    return span;
  }

  /** The blocks that overlap a network; undefined outside of the range. */
  spanOf(network: IPBlock): Span | undefined {
    if (network.family !== this.family) return undefined;
    const hostBits = BigInt((this.family === 4 ? 32 : 128) - network.prefix);
    const start = number(network) - this.#base;
    const end = start + (1n << hostBits) - 1n;
    const last = BigInt(this.size - 1);
    const from = start >> this.#shift;
    const to = end >> this.#shift;
    if (to < 0n || from > last) return undefined;
    return { first: from < 0n ? 0 : Number(from), last: Number(to > last ? last : to) };
  }

  hold({ first, last }: Span): void {
    for (let i = first; i <= last; i += 1) {
      const holders = this.#holders[i] ?? 0;
      this.#holders[i] = holders + 1;
      if (holders > 0) continue;
      this.#link(this.#previous[i] ?? 0, this.#next[i] ?? 0);
      this.#used += 1;
      this.#onUse('allocations');
    }
  }

  /** Releases one hold of each block. */
  free({ first, last }: Span): void {
    for (let i = first; i <= last; i += 1) {
      const holders = this.#holders[i] ?? 0;
      this.#holders[i] = holders - 1;
      if (holders > 1) continue;
      this.#link(this.#previous[this.size] ?? 0, i);
      this.#link(i, this.size);
      this.#used -= 1;
      this.#onUse('releases');
    }
  }

  /** The CIDR of a block, such as `10.244.3.0/24`. */
  cidr({ first }: Span): string {
    return `${text(this.#base + (BigInt(first) << this.#shift), this.family)}/${this.#prefix}`;
  }

  #link(before: number, after: number): void {
    this.#next[before] = after;
    this.#previous[after] = before;
  }
}

/** The first address as a number. */
function number({ family, base }: IPBlock): bigint {
  return BigInt(`0x${Buffer.from(family === 4 ? base.subarray(12) : base).toString('hex')}`);
}

function text(address: bigint, family: 4 | 6): string {
  return formatAddress(Buffer.from(address.toString(16).padStart(family === 4 ? 8 : 32, '0'), 'hex'));
}
