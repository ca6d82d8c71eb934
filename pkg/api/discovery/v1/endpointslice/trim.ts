import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';

type Endpoint = EndpointSlice['endpoints'][number];

/**
 * The parts of an endpoint slice that DNS and packet filters need: every node caches the slices of the whole cluster.
 * Equal conditions share one object.
 */
export function trimEndpointSlice(slice: EndpointSlice): EndpointSlice {
  const { name, namespace, uid, resourceVersion, labels } = slice.metadata;
  return {
    metadata: { name, namespace, uid, resourceVersion, labels } as EndpointSlice['metadata'],
    addressType: slice.addressType,
    // Other implementations write null for an empty list.
    ports: (slice.ports as EndpointSlice['ports'] | null) ?? [],
    endpoints: ((slice.endpoints as EndpointSlice['endpoints'] | null) ?? []).map(trimEndpoint),
  };
}

function trimEndpoint({ addresses, conditions, hints, hostname, nodeName }: Endpoint): Endpoint {
  const kept = trimConditions(conditions);
  const zones = hints?.forZones ?? [];
  return {
    addresses,
    ...(kept === undefined ? {} : { conditions: kept }),
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(zones.length === 0 ? {} : { hints: { forZones: zones } }),
  };
}

/** Undefined for ready endpoints, as most are. */
function trimConditions(conditions: Endpoint['conditions']): Endpoint['conditions'] {
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
