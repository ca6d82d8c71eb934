/** Address pools for load balancers. Pure. */
import { addressToNumber, ipFamily, numberToAddress, parseCIDR } from '#apimachinery/net/ip.js';

/** All addresses from `first` to `last`, inclusive. */
export interface AddressRange {
  readonly family: 4 | 6;
  readonly first: bigint;
  readonly last: bigint;
}

export interface Pool {
  readonly name: string;
  readonly ranges: readonly AddressRange[];
  /** Whether services that do not name the pool can get its addresses. */
  readonly autoAssign: boolean;
  /** Namespaces whose services may use the pool; by default all. */
  readonly namespaces?: ReadonlySet<string>;
}

/** Parses a block (`192.0.2.0/28`, including its first and last address), a range (`192.0.2.1-192.0.2.9`) or an address. */
export function parseRange(text: string): AddressRange | undefined {
  const cidr = parseCIDR(text);
  if (cidr !== undefined) {
    const { family, base, prefix } = cidr;
    const first = BigInt(`0x${Buffer.from(family === 4 ? base.subarray(12) : base).toString('hex')}`);
    return { family, first, last: first + (1n << BigInt((family === 4 ? 32 : 128) - prefix)) - 1n };
  }
  const [from = '', to = from, ...rest] = text.split('-').map((part) => part.trim());
  const family = ipFamily(from);
  if (family === 0 || ipFamily(to) !== family || rest.length > 0) return undefined;
  const range: AddressRange = { family, first: addressToNumber(from), last: addressToNumber(to) };
  return range.first <= range.last ? range : undefined;
}

export function rangesOverlap(a: AddressRange, b: AddressRange): boolean {
  return a.family === b.family && a.first <= b.last && b.first <= a.last;
}

export function poolHolds(pool: Pool, address: string): boolean {
  const family = ipFamily(address);
  if (family === 0) return false;
  const number = addressToNumber(address);
  return pool.ranges.some((range) => range.family === family && range.first <= number && number <= range.last);
}

/** The first address of the pool that is not in use. Checks at most one address more than are in use. */
export function freeAddress(pool: Pool, family: 4 | 6, isInUse: (address: string) => boolean): string | undefined {
  for (const range of pool.ranges) {
    if (range.family !== family) continue;
    for (let number = range.first; number <= range.last; number += 1n) {
      const address = numberToAddress(number, family);
      if (!isInUse(address)) return address;
    }
  }
  return undefined;
}
