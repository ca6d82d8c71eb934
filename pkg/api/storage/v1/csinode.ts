import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    CSINode: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'CSINodeSpec' },
    },
    CSINodeDriver: {
      name: { number: 1, type: 'string' },
      nodeID: { number: 2, type: 'string' },
      topologyKeys: { number: 3, type: 'string', repeated: true, optional: true },
      allocatable: { number: 4, type: 'VolumeNodeResources', pointer: true, omitempty: true, optional: true },
    },
    CSINodeList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'CSINode', repeated: true },
    },
    CSINodeSpec: {
      drivers: { number: 1, type: 'CSINodeDriver', repeated: true, patchStrategy: 'merge', patchMergeKey: 'name' },
    },
    VolumeNodeResources: {
      count: { number: 1, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
  },
  resources: [
    {
      resource: 'csinodes',
      singular: 'csinode',
      kind: 'CSINode',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Drivers', type: 'integer' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
