import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    EndpointAddress: {
      ip: { number: 1, type: 'string' },
      hostname: { number: 3, type: 'string', omitempty: true, optional: true },
      nodeName: { number: 4, type: 'string', pointer: true, omitempty: true, optional: true },
      targetRef: { number: 2, type: 'ObjectReference', pointer: true, omitempty: true, optional: true },
    },
    EndpointPort: {
      name: { number: 1, type: 'string', omitempty: true, optional: true },
      port: { number: 2, type: 'int32' },
      protocol: { number: 3, type: 'string', omitempty: true, optional: true, enum: 'Protocol' },
      appProtocol: { number: 4, type: 'string', pointer: true, omitempty: true, optional: true },
    },
    EndpointSubset: {
      addresses: { number: 1, type: 'EndpointAddress', repeated: true, omitempty: true, optional: true },
      notReadyAddresses: { number: 2, type: 'EndpointAddress', repeated: true, omitempty: true, optional: true },
      ports: { number: 3, type: 'EndpointPort', repeated: true, omitempty: true, optional: true },
    },
    Endpoints: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      subsets: { number: 2, type: 'EndpointSubset', repeated: true, omitempty: true, optional: true },
    },
    EndpointsList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'Endpoints', repeated: true },
    },
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
