import { declaration as stable } from '#api/discovery/v1/endpointslice.js';
import { derivedVersion } from '#apimachinery/schema/derived-version.js';
import { optional, pointer } from '#apimachinery/schema/language.js';

export const declaration = derivedVersion(stable, {
  storedAs: { version: 'v1' },
  deprecation: { since: '1.21', until: '1.25', replacement: 'v1' },
  granular: ['EndpointPort'],
  fields: {
    Endpoint: {
      deprecatedTopology: undefined,
      zone: undefined,
      topology: optional(5, 'map<string, string>', 'Where it is, by label: its zone, its region, and the host name of its node.'),
      hints: pointer(7, 'EndpointHints', { featureGate: 'TopologyAwareHints' }, 'Who should use it.'),
    },
  },
});
