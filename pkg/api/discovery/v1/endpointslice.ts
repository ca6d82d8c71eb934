import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Endpoint: {
      addresses: { number: 1, type: 'string', repeated: true, listType: 'set' },
      conditions: { number: 2, type: 'EndpointConditions', omitempty: true, optional: true },
      hostname: { number: 3, type: 'string', pointer: true, omitempty: true, optional: true },
      targetRef: { number: 4, type: 'core.v1.ObjectReference', pointer: true, omitempty: true, optional: true },
      deprecatedTopology: { number: 5, type: 'string', map: 'string', omitempty: true, optional: true },
      nodeName: { number: 6, type: 'string', pointer: true, omitempty: true, optional: true },
      zone: { number: 7, type: 'string', pointer: true, omitempty: true, optional: true },
      hints: { number: 8, type: 'EndpointHints', pointer: true, omitempty: true, optional: true },
    },
    EndpointConditions: {
      ready: { number: 1, type: 'bool', pointer: true, omitempty: true, optional: true },
      serving: { number: 2, type: 'bool', pointer: true, omitempty: true, optional: true },
      terminating: { number: 3, type: 'bool', pointer: true, omitempty: true, optional: true },
    },
    EndpointHints: {
      forZones: { number: 1, type: 'ForZone', repeated: true, omitempty: true, optional: true, listType: 'atomic' },
    },
    EndpointPort: {
      name: { number: 1, type: 'string', pointer: true, omitempty: true, optional: true },
      protocol: { number: 2, type: 'string', pointer: true, omitempty: true, optional: true },
      port: { number: 3, type: 'int32', pointer: true, omitempty: true, optional: true },
      appProtocol: { number: 4, type: 'string', pointer: true, omitempty: true, optional: true },
    },
    EndpointSlice: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      addressType: { number: 4, type: 'string' },
      endpoints: { number: 2, type: 'Endpoint', repeated: true, listType: 'atomic' },
      ports: { number: 3, type: 'EndpointPort', repeated: true, optional: true, listType: 'atomic' },
    },
    EndpointSliceList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'EndpointSlice', repeated: true },
    },
    ForZone: {
      name: { number: 1, type: 'string' },
    },
  },
  resources: [
    {
      resource: 'endpointslices',
      singular: 'endpointslice',
      kind: 'EndpointSlice',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'AddressType', type: 'string' },
        { name: 'Ports', type: 'string' },
        { name: 'Endpoints', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
