import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Overhead: {
      podFixed: { number: 1, type: 'resource.Quantity', map: 'string', omitempty: true, optional: true },
    },
    RuntimeClass: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      handler: { number: 2, type: 'string' },
      overhead: { number: 3, type: 'Overhead', pointer: true, omitempty: true, optional: true },
      scheduling: { number: 4, type: 'Scheduling', pointer: true, omitempty: true, optional: true },
    },
    RuntimeClassList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'RuntimeClass', repeated: true },
    },
    Scheduling: {
      nodeSelector: { number: 1, type: 'string', map: 'string', omitempty: true, optional: true, mapType: 'atomic' },
      tolerations: {
        number: 2,
        type: 'core.v1.Toleration',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'atomic',
      },
    },
  },
  resources: [
    {
      resource: 'runtimeclasses',
      singular: 'runtimeclass',
      kind: 'RuntimeClass',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Handler', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
