/** Addresses and ranges by their family. */
import { canonicalAddress, ipFamily } from '#apimachinery/net/ip.js';
import type { Family } from '#proxy/services/view.js';

/** Of an address or of a range (`10.0.0.0/8`); undefined for what is neither. */
export function familyOf(text: string): Family | undefined {
  const family = ipFamily(text.split('/')[0] ?? '');
  if (family === 0) return undefined;
  return family === 4 ? 'IPv4' : 'IPv6';
}

/** The addresses of one family, canonical, each once. */
export function addressesOf(family: Family, ...lists: readonly (readonly (string | undefined)[])[]): string[] {
  const found = new Set<string>();
  for (const address of lists.flat()) {
    if (address === undefined || familyOf(address) !== family) continue;
    const canonical = canonicalAddress(address);
    if (canonical !== undefined) found.add(canonical);
  }
  return [...found];
}
