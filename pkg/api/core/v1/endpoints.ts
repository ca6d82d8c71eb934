import { atomic, defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    EndpointAddress: atomic('An address of an endpoint.', {
      ip: required(1, 'string', 'IP address; neither loopback nor link-local nor multicast.'),
      hostname: optional(3, 'string', "Host name of the endpoint, a DNS label; it gets a record below the service's name."),
      nodeName: pointer(4, 'string', 'Node that the endpoint runs on.'),
      targetRef: pointer(2, 'ObjectReference', 'The object behind the address, mostly a pod.'),
    }),
    EndpointPort: atomic('A port of endpoints.', {
      name: optional(1, 'string', 'Name of the port as in the service. May be empty only where there is a single port.'),
      port: required(2, 'int32', { minimum: 1, maximum: 65535 }, 'Number of the port, 1 to 65535.'),
      protocol: optional(3, 'string', { default: 'TCP', enum: 'Protocol' }, '`TCP`, `UDP` or `SCTP`.'),
      appProtocol: pointer(4, 'string', 'Protocol spoken on the port, such as a registered service name or a name with a domain prefix.'),
    }),
    EndpointSubset: message('Addresses that share a set of ports. Every address serves every port.', {
      addresses: optional(1, 'EndpointAddress[]', 'Addresses that are ready for traffic.'),
      notReadyAddresses: optional(2, 'EndpointAddress[]', 'Addresses that are not ready: still starting, or failing their readiness checks.'),
      ports: optional(3, 'EndpointPort[]', 'Ports that the addresses serve.'),
    }),
    Endpoints: object('The addresses behind the service of the same name. Lists at most 1000 addresses; EndpointSlices have no such limit.', {
      subsets: optional(2, 'EndpointSubset[]', 'Groups of addresses with the same ports. An address may be in several groups.'),
    }),
  },
  resources: [
    {
      resource: 'endpoints',
      kind: 'Endpoints',
      shortNames: ['ep'],
      columns: ['Name', 'Endpoints', 'Age'],
    },
  ],
});
