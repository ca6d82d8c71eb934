/** What is particular to endpoint slices of version 1beta1. */

import { endpointSliceRules } from '#api/discovery/v1/endpointslice/strategy.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import type { EndpointSlice as Stored } from '#api/discovery/v1/types.gen.js';
import { endpointSliceV1beta1Conversion } from '#api/discovery/v1beta1/endpointslice/conversion.js';
import { endpointslices as betaSlices } from '#api/discovery/v1beta1/resources.gen.js';
import type { EndpointSlice } from '#api/discovery/v1beta1/types.gen.js';
import { convertedStrategy } from '#api/strategy/converted-strategy.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

export const endpointSliceV1beta1Strategy: Strategy<EndpointSlice> = convertedStrategy<EndpointSlice, Stored>(
  betaSlices,
  {
    conversion: endpointSliceV1beta1Conversion,
    // Whoever writes this version may say where endpoints are.
    stored: kindStrategy(endpointslices, endpointSliceRules),
    // Ports are the same in both.
  },
);
