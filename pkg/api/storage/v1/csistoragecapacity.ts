import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    CSIStorageCapacity: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      nodeTopology: {
        number: 2,
        type: 'meta.v1.LabelSelector',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Labels of the nodes at that place. Unset: none; empty: all nodes. Cannot be changed.',
      },
      storageClassName: { number: 3, type: 'string', doc: 'Name of the StorageClass. Cannot be changed.' },
      capacity: {
        number: 4,
        type: 'resource.Quantity',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Storage that is left. Unset: unknown.',
      },
      maximumVolumeSize: {
        number: 5,
        type: 'resource.Quantity',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Size of the largest volume that can be made. Default: `capacity` decides.',
      },
    },
    CSIStorageCapacityList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: {
        number: 2,
        type: 'CSIStorageCapacity',
        repeated: true,
        listType: 'map',
        listMapKeys: ['name'],
        doc: 'The objects of the list.',
      },
    },
  },
  docs: {
    CSIStorageCapacity: 'How much storage a driver can still provide at a place.',
    CSIStorageCapacityList: 'A list of CSIStorageCapacity objects.',
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
