import { endpointSliceRules } from '#api/discovery/v1/endpointslice/strategy.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice as Stored, Endpoint as StoredEndpoint } from '#api/discovery/v1/types.gen.js';
import { endpointslices as betaSlices } from '#api/discovery/v1beta1/resources.gen.js';
import type { Endpoint, EndpointSlice } from '#api/discovery/v1beta1/types.gen.js';
import type { Conversion } from '#api/strategy/conversion.js';
import { convertedStrategy } from '#api/strategy/converted-strategy.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Version v1beta1 has labels for locations of endpoints where version 1 has fields. */
const endpointSliceV1beta1Conversion: Conversion<EndpointSlice, Stored> = {
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
  // A host name other than the node's stays a label.
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

export const endpointSliceV1beta1Strategy: Strategy<EndpointSlice> = convertedStrategy<EndpointSlice, Stored>(
  betaSlices,
  {
    conversion: endpointSliceV1beta1Conversion,
    // Clients of this version may write these labels.
    stored: kindStrategy(endpointslices, endpointSliceRules),
  },
);
