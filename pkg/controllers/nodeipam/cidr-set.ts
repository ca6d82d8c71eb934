/**
 * The blocks of one size that a range divides into, and which of them are in use. Taking, holding and freeing one block
 * takes the same time however many there are: the free ones are a ring of numbers, in the order in which they are taken.
 */
import { formatAddress, type IPBlock } from '#apimachinery/net/ip.js';

/** Blocks of one range at most, as in 1.24: 65 536. */
export const maxBlockBits = 16;

export interface Span {
  readonly first: number;
  readonly last: number;
}

export class CidrSet {
  readonly family: 4 | 6;
  /** The range: `10.244.0.0/16`. */
  readonly range: string;
  /** Number of blocks. */
  readonly size: number;
  readonly #base: bigint;
  readonly #prefix: number;
  /** Host bits of a block. */
  readonly #shift: bigint;
  readonly #onUse: (change: 'allocations' | 'releases') => void;
  /** How many hold the block; the same one may be held twice, since anybody may write a node with it. */
  readonly #holders: Int32Array;
  /** The ring of free blocks; the last place is its head. */
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  #used = 0;

  /**
   * @param prefix Prefix length of the blocks. Throws RangeError when it is shorter than the range's, or more than
   * `maxBlockBits` longer.
   * @param onUse Told of each block that comes into use or is free again.
   */
  constructor(range: IPBlock, prefix: number, onUse: (change: 'allocations' | 'releases') => void = () => undefined) {
    const bits = prefix - range.prefix;
    if (!(bits >= 0 && bits <= maxBlockBits)) throw new RangeError(`a /${range.prefix} is not divided into /${prefix}`);
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

  /** A free block, held from now on: never used ones in their order, then those that have been free for longest. */
  take(): Span | undefined {
    if (!this.hasFree) return undefined;
    const first = this.#next[this.size] ?? 0;
    const span = { first, last: first };
    this.hold(span);
    return span;
  }

  /** The blocks that a network covers or lies in; undefined outside of the range. */
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

  /** Ends one hold of each. */
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

  /** `10.244.3.0/24` of a block. */
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
