import { defineTypes, listOf, object, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    CSIStorageCapacity: object('How much storage a driver can still provide at a place.', {
      nodeTopology: pointer(2, 'meta.v1.LabelSelector', { immutable: true }, 'Labels of the nodes at that place. Unset: none; empty: all nodes. Cannot be changed.'),
      storageClassName: required(3, 'string', { immutable: true }, 'Name of the StorageClass. Cannot be changed.'),
      capacity: pointer(4, 'resource.Quantity', 'Storage that is left. Unset: unknown.'),
      maximumVolumeSize: pointer(5, 'resource.Quantity', 'Size of the largest volume that can be made. Default: `capacity` decides.'),
    }),
    CSIStorageCapacityList: listOf('CSIStorageCapacity', 'csistoragecapacities', { listMapKeys: ['name'] }),
  },
  resources: [
    {
      resource: 'csistoragecapacities',
      kind: 'CSIStorageCapacity',
    },
  ],
});
