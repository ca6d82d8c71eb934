import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';

/** What names are made from, of a slice of endpoints: each node keeps those of the whole cluster. */
export function keepNames(slice: EndpointSlice): EndpointSlice {
  const { name, namespace, uid, resourceVersion, labels } = slice.metadata;
  return {
    metadata: { name, namespace, uid, resourceVersion, labels } as EndpointSlice['metadata'],
    addressType: slice.addressType,
    ...(slice.ports === undefined ? {} : { ports: slice.ports }),
    // Objects of other implementations say null for none.
    endpoints: ((slice.endpoints as EndpointSlice['endpoints'] | null) ?? []).map(
      ({ addresses, conditions, hostname }) => ({
        addresses,
        ...(conditions?.ready === false ? { conditions: notReady } : {}),
        ...(hostname === undefined ? {} : { hostname }),
      }),
    ),
  };
}

const notReady = { ready: false } as const;
