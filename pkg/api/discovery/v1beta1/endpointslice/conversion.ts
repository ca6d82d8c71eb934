/** Endpoint slices of version 1beta1, which say in labels where endpoints are, where version 1 has fields for it. */

import type { EndpointSlice as Stored, Endpoint as StoredEndpoint } from '#api/discovery/v1/types.gen.js';
import type { Endpoint, EndpointSlice } from '#api/discovery/v1beta1/types.gen.js';
import type { Conversion } from '#api/strategy/conversion.js';
import type { Dialect } from '#apimachinery/dialect.js';

export const endpointSliceV1beta1Conversion: Conversion<EndpointSlice, Stored> = {
  toStored: (slice, { dialect }) => ({
    ...slice,
    apiVersion: dialect.apiVersion('discovery', 'v1'),
    ...(slice.endpoints && { endpoints: slice.endpoints.map((endpoint) => toStored(endpoint, dialect)) }),
  }),
  fromStored: (slice, { dialect }) => ({
    ...slice,
    apiVersion: dialect.apiVersion('discovery', 'v1beta1'),
    ...(slice.endpoints && { endpoints: slice.endpoints.map((endpoint) => fromStored(endpoint, dialect)) }),
  }),
};

function toStored({ topology, ...endpoint }: Endpoint, { labels }: Dialect): StoredEndpoint {
  if (topology === undefined) return endpoint;
  const { [labels.zone]: zone, [labels.hostname]: host, ...others } = topology;
  // A host name that is not the node's stays where it was.
  const rest = host === undefined || host === endpoint.nodeName ? others : { ...others, [labels.hostname]: host };
  return {
    ...endpoint,
    ...(zone !== undefined && { zone }),
    ...(Object.keys(rest).length > 0 && { deprecatedTopology: rest }),
  };
}

function fromStored({ deprecatedTopology, zone, ...endpoint }: StoredEndpoint, { labels }: Dialect): Endpoint {
  const { nodeName } = endpoint;
  const topology = { ...deprecatedTopology, ...(zone !== undefined && { [labels.zone]: zone }) };
  if (nodeName !== undefined) topology[labels.hostname] ||= nodeName;
  return { ...endpoint, ...(Object.keys(topology).length > 0 && { topology }) };
}
