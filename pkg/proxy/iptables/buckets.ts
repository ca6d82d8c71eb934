/** How long lists of addresses are split into chains. */
import { blockAround } from '#apimachinery/net/ip.js';
import { rangeText } from '#proxy/services/source-ranges.js';

/** The block of that prefix length around an address, as text; what is no address stays as it is. */
export function addressBucket(address: string, prefix: number): string {
  const block = blockAround(address, prefix);
  return block === undefined ? address : rangeText(block);
}
