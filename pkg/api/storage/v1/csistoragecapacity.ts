import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    CSIStorageCapacity: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      nodeTopology: { number: 2, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
      storageClassName: { number: 3, type: 'string' },
      capacity: { number: 4, type: 'resource.Quantity', pointer: true, omitempty: true, optional: true },
      maximumVolumeSize: { number: 5, type: 'resource.Quantity', pointer: true, omitempty: true, optional: true },
    },
    CSIStorageCapacityList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'CSIStorageCapacity', repeated: true, listType: 'map', listMapKeys: ['name'] },
    },
  },
  resources: [
    {
      resource: 'csistoragecapacities',
      singular: 'csistoragecapacity',
      kind: 'CSIStorageCapacity',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'StorageClassName', type: 'string' },
        { name: 'Capacity', type: 'string' },
      ],
    },
  ],
};
