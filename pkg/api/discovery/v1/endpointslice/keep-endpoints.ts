import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';

type Endpoint = EndpointSlice['endpoints'][number];

/**
 * What names and rules of the packet filter are made from, of a slice of endpoints: each node keeps those of the whole
 * cluster. Equal conditions are one object.
 */
export function keepEndpoints(slice: EndpointSlice): EndpointSlice {
  const { name, namespace, uid, resourceVersion, labels } = slice.metadata;
  return {
    metadata: { name, namespace, uid, resourceVersion, labels } as EndpointSlice['metadata'],
    addressType: slice.addressType,
    // Objects of other implementations say null for none.
    ports: (slice.ports as EndpointSlice['ports'] | null) ?? [],
    endpoints: ((slice.endpoints as EndpointSlice['endpoints'] | null) ?? []).map(keptEndpoint),
  };
}

function keptEndpoint({ addresses, conditions, hints, hostname, nodeName }: Endpoint): Endpoint {
  const kept = keptConditions(conditions);
  const zones = hints?.forZones ?? [];
  return {
    addresses,
    ...(kept === undefined ? {} : { conditions: kept }),
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(zones.length === 0 ? {} : { hints: { forZones: zones } }),
  };
}

/** Undefined: ready, as most are. */
function keptConditions(conditions: Endpoint['conditions']): Endpoint['conditions'] {
  const isReady = conditions?.ready ?? true;
  const isServing = conditions?.serving ?? isReady;
  const isTerminating = conditions?.terminating ?? false;
  if (isReady && isServing && !isTerminating) return undefined;
  return all.find(
    ({ ready, serving, terminating }) => ready === isReady && serving === isServing && terminating === isTerminating,
  );
}

const both = [true, false];
const all = both.flatMap((ready) =>
  both.flatMap((serving) => both.map((terminating) => Object.freeze({ ready, serving, terminating }))),
);
