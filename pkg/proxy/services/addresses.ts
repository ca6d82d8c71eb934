/** Addresses and ranges by family. */
import {
  blockHolds,
  canonicalAddress,
  formatAddress,
  type IPBlock,
  ipFamily,
  parseCIDR,
} from '#apimachinery/net/ip.js';
import type { Family } from '#proxy/services/proxy-settings.js';

/** Family of an address or range (`10.0.0.0/8`); undefined for other text. */
export function familyOf(text: string): Family | undefined {
  const family = ipFamily(text.split('/')[0] ?? '');
  if (family === 0) return undefined;
  return family === 4 ? 'IPv4' : 'IPv6';
}

/** The addresses of one family, canonical and without duplicates. */
export function addressesOf(family: Family, ...lists: readonly (readonly (string | undefined)[])[]): string[] {
  const addresses = new Set<string>();
  for (const address of lists.flat()) {
    if (address === undefined || familyOf(address) !== family) continue;
    const canonical = canonicalAddress(address);
    if (canonical !== undefined) addresses.add(canonical);
  }
  return [...addresses];
}

/** `loadBalancerSourceRanges` as disjoint ranges, as kernel sets require; `all` if one range covers everything. */
export function coveringRanges(ranges: readonly string[], family: Family): readonly string[] | 'all' {
  const bits = family === 'IPv4' ? 4 : 6;
  const blocks = ranges.flatMap((range) => {
    const block = parseCIDR(range.trim());
    return block === undefined || block.family !== bits ? [] : [block];
  });
  if (blocks.some(({ prefix }) => prefix === 0)) return 'all';
  return disjointBlocks(blocks).map(rangeText);
}

/** Blocks that are not within another, in their order and without duplicates. */
export function disjointBlocks(blocks: readonly IPBlock[]): IPBlock[] {
  // Sorted, each block directly follows those that contain it.
  const sorted = [...blocks].sort(
    (a, b) => a.family - b.family || Buffer.compare(a.base, b.base) || a.prefix - b.prefix,
  );
  const kept = new Set<IPBlock>();
  let last: IPBlock | undefined;
  for (const block of sorted) {
    if (last !== undefined && blockHolds(last, block)) continue;
    kept.add(block);
    last = block;
  }
  return blocks.filter((block) => kept.has(block));
}

/** `10.0.0.0/8`; a range of one address is written as the address. */
export function rangeText({ base, family, prefix }: IPBlock): string {
  const address = formatAddress(family === 4 ? base.subarray(12) : base);
  return prefix === (family === 4 ? 32 : 128) ? address : `${address}/${prefix}`;
}
