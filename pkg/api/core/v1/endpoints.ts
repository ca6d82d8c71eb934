import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    EndpointAddress: {
      ip: { number: 1, type: 'string', doc: 'IP address; neither loopback nor link-local nor multicast.' },
      hostname: {
        number: 3,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: "Host name of the endpoint, a DNS label; it gets a record below the service's name.",
      },
      nodeName: {
        number: 4,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Node that the endpoint runs on.',
      },
      targetRef: {
        number: 2,
        type: 'ObjectReference',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'The object behind the address, mostly a pod.',
      },
    },
    EndpointPort: {
      name: {
        number: 1,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Name of the port as in the service. May be empty only where there is a single port.',
      },
      port: { number: 2, type: 'int32', doc: 'Number of the port, 1 to 65535.' },
      protocol: {
        number: 3,
        type: 'string',
        omitempty: true,
        optional: true,
        enum: 'Protocol',
        doc: '`TCP`, `UDP` or `SCTP`. Default `TCP`.',
      },
      appProtocol: {
        number: 4,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Protocol spoken on the port, such as a registered service name or a name with a domain prefix.',
      },
    },
    EndpointSubset: {
      addresses: {
        number: 1,
        type: 'EndpointAddress',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Addresses that are ready for traffic.',
      },
      notReadyAddresses: {
        number: 2,
        type: 'EndpointAddress',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Addresses that are not ready: still starting, or failing their readiness checks.',
      },
      ports: {
        number: 3,
        type: 'EndpointPort',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Ports that the addresses serve.',
      },
    },
    Endpoints: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      subsets: {
        number: 2,
        type: 'EndpointSubset',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Groups of addresses with the same ports. An address may be in several groups.',
      },
    },
    EndpointsList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'Endpoints', repeated: true, doc: 'The objects of the list.' },
    },
  },
  docs: {
    EndpointAddress: 'An address of an endpoint.',
    EndpointPort: 'A port of endpoints.',
    EndpointSubset: 'Addresses that share a set of ports. Every address serves every port.',
    Endpoints:
      'The addresses behind the service of the same name. Lists at most 1000 addresses; EndpointSlices have no such limit.',
    EndpointsList: 'A list of Endpoints objects.',
  },
  resources: [
    {
      resource: 'endpoints',
      singular: 'endpoints',
      kind: 'Endpoints',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['ep'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Endpoints', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
