/** What exceptions leave of a block of addresses. Pure. */
import { addressToNumber, formatAddress, type IPBlock, numberToAddress } from '#apimachinery/net/ip.js';

/** Both are part of it. */
export interface AddressRange {
  readonly first: string;
  readonly last: string;
}

/** In the order of addresses; at most one more than there are exceptions. */
export function rangesWithout(block: IPBlock, except: readonly IPBlock[]): AddressRange[] {
  const { family } = block;
  const whole = spanOf(block);
  const gaps = except.filter((each) => each.family === family).map(spanOf);
  gaps.sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const ranges: AddressRange[] = [];
  const add = (first: bigint, last: bigint) => {
    if (first <= last) ranges.push({ first: numberToAddress(first, family), last: numberToAddress(last, family) });
  };
  let next = whole.first;
  for (const { first, last } of gaps) {
    if (last < next || first > whole.last) continue;
    add(next, first - 1n);
    next = last + 1n;
  }
  add(next, whole.last);
  return ranges;
}

function spanOf({ base, family, prefix }: IPBlock): { readonly first: bigint; readonly last: bigint } {
  const bits = family === 4 ? 32 : 128;
  const first = addressToNumber(formatAddress(family === 4 ? base.subarray(12) : base));
  return { first, last: first + (1n << BigInt(bits - prefix)) - 1n };
}
