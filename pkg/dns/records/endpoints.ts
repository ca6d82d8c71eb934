/** The endpoints of a slice that have names. */
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';

export interface NamedAddress {
  readonly address: string;
  readonly hostname?: string | undefined;
}

/** The addresses of the endpoints that take traffic, or of all. */
export function* namedAddresses(slice: EndpointSlice, isReadyOrNot: boolean): Generator<NamedAddress> {
  if (slice.addressType === 'FQDN') return;
  for (const { addresses, conditions, hostname } of slice.endpoints) {
    // Unset: unknown, taken as ready.
    if (!isReadyOrNot && conditions?.ready === false) continue;
    for (const address of addresses) yield { address, hostname };
  }
}

/** An endpoint's label below its service's name: its hostname, or its address with dashes. */
export function endpointLabel({ address, hostname }: NamedAddress): string {
  return hostname === undefined || hostname === '' ? address.replaceAll(/[.:]/g, '-') : hostname;
}
