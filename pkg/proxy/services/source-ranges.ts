/** The ranges of `loadBalancerSourceRanges` as a set of the kernel takes them: none within another. */
import { blockHolds, formatAddress, type IPBlock, parseCIDR } from '#apimachinery/net/ip.js';
import type { Family } from '#proxy/services/view.js';

/** `all` when one of them is everything. */
export function coveringRanges(ranges: readonly string[], family: Family): readonly string[] | 'all' {
  const bits = family === 'IPv4' ? 4 : 6;
  const blocks = ranges.flatMap((range) => {
    const block = parseCIDR(range.trim());
    return block === undefined || block.family !== bits ? [] : [block];
  });
  if (blocks.some(({ prefix }) => prefix === 0)) return 'all';
  return disjointBlocks(blocks).map(rangeText);
}

/** Those that are within no other, each once, in their order. */
export function disjointBlocks(blocks: readonly IPBlock[]): IPBlock[] {
  // A block comes after those that hold it, and nothing else is in between.
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
