import { atomic, defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Endpoint: message('One endpoint of a service.', {
      addresses: required(1, 'string[]', { listType: 'set' }, 'Addresses of the endpoint, 1 to 100; all are equal, and clients use the first.'),
      conditions: optional(2, 'EndpointConditions', 'State of the endpoint.'),
      hostname: pointer(3, 'string', 'Host name of the endpoint, a DNS label.'),
      targetRef: pointer(4, 'core.v1.ObjectReference', 'The object behind it, mostly a pod.'),
      deprecatedTopology: optional(5, 'map<string, string>', 'Further facts about its place, by label. No longer used.'),
      nodeName: pointer(6, 'string', 'Node that it runs on.'),
      zone: pointer(7, 'string', 'Zone that it runs in.'),
      hints: pointer(8, 'EndpointHints', { featureGate: 'TopologyAwareHints' }, 'Who should use it.'),
    }),
    EndpointConditions: message('State of an endpoint.', {
      ready: pointer(1, 'bool', 'Whether it takes traffic. Never true while it ends, unless the service publishes endpoints that are not ready. Unset: unknown, taken as ready.'),
      serving: pointer(2, 'bool', { featureGate: 'EndpointSliceTerminatingCondition' }, 'As `ready`, also while it ends. Unset: take `ready`.'),
      terminating: pointer(3, 'bool', { featureGate: 'EndpointSliceTerminatingCondition' }, 'Whether it is ending. Unset: unknown, taken as not.'),
    }),
    EndpointHints: message('Who should use an endpoint.', {
      forZones: optional(1, 'ForZone[]', { listType: 'atomic' }, 'Zones whose clients should use it. At most 8.'),
    }),
    EndpointPort: atomic('A port of the endpoints.', {
      name: pointer(1, 'string', { default: '' }, 'Name of the port; empty or a DNS label, unique in the slice.'),
      protocol: pointer(2, 'string', { default: 'TCP' }, '`TCP`, `UDP` or `SCTP`.'),
      port: pointer(3, 'int32', 'Number of the port. Unset: to be made out by the client.'),
      appProtocol: pointer(4, 'string', 'Protocol spoken on the port, such as a registered service name or a name with a domain prefix.'),
    }),
    EndpointSlice: object('Some of the endpoints of a service; a label names the service.', {
      addressType: required(4, 'string', { immutable: true }, '`IPv4`, `IPv6` or `FQDN`. Cannot be changed.'),
      endpoints: required(2, 'Endpoint[]', { listType: 'atomic' }, 'The endpoints. At most 1000.'),
      ports: optional(3, 'EndpointPort[]', { listType: 'atomic', omitempty: false }, 'Ports that all the endpoints have. At most 100.'),
    }),
    ForZone: message('A zone.', {
      name: required(1, 'string', 'Name of the zone.'),
    }),
  },
  resources: [
    {
      resource: 'endpointslices',
      kind: 'EndpointSlice',
      columns: ['Name', 'AddressType', 'Ports', 'Endpoints', 'Age'],
    },
  ],
});
