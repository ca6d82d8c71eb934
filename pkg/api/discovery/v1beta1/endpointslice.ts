import { declaration as stable } from '#api/discovery/v1/endpointslice.js';
import { anotherVersion } from '#apimachinery/schema/another-version.js';
import type { KindDeclaration } from '#apimachinery/schema/schema.js';

const { deprecatedTopology: _, zone: __, ...common } = stable.types['Endpoint'] ?? {};

export const declaration: KindDeclaration = anotherVersion(stable, {
  storedAs: { version: 'v1' },
  deprecation: { since: '1.21', until: '1.25', replacement: 'v1' },
  types: {
    Endpoint: {
      ...common,
      topology: {
        number: 5,
        type: 'string',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Where it is, by label: its zone, its region, and the host name of its node.',
      },
      hints: {
        number: 7,
        type: 'EndpointHints',
        pointer: true,
        omitempty: true,
        optional: true,
        featureGate: 'TopologyAwareHints',
        doc: 'Who should use it.',
      },
    },
  },
});
