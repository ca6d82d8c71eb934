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
  const widest = blocks.filter(
    (block, i) =>
      !blocks.some((other, j) => i !== j && blockHolds(other, block) && (other.prefix < block.prefix || j < i)),
  );
  return widest.map(rangeText);
}

/** `10.0.0.0/8`; a range of one address is written as the address. */
export function rangeText({ base, family, prefix }: IPBlock): string {
  const address = formatAddress(family === 4 ? base.subarray(12) : base);
  return prefix === (family === 4 ? 32 : 128) ? address : `${address}/${prefix}`;
}
