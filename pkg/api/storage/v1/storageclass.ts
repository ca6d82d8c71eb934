import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    StorageClass: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      provisioner: { number: 2, type: 'string' },
      parameters: { number: 3, type: 'string', map: 'string', omitempty: true, optional: true },
      reclaimPolicy: { number: 4, type: 'string', pointer: true, omitempty: true, optional: true },
      mountOptions: { number: 5, type: 'string', repeated: true, omitempty: true, optional: true },
      allowVolumeExpansion: { number: 6, type: 'bool', pointer: true, omitempty: true, optional: true },
      volumeBindingMode: {
        number: 7,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        enum: 'VolumeBindingMode',
      },
      allowedTopologies: {
        number: 8,
        type: 'core.v1.TopologySelectorTerm',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'atomic',
      },
    },
    StorageClassList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'StorageClass', repeated: true },
    },
  },
  enums: {
    VolumeBindingMode: ['Immediate', 'WaitForFirstConsumer'],
  },
  resources: [
    {
      resource: 'storageclasses',
      singular: 'storageclass',
      kind: 'StorageClass',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['sc'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Provisioner', type: 'string' },
        { name: 'ReclaimPolicy', type: 'string' },
        { name: 'VolumeBindingMode', type: 'string' },
        { name: 'AllowVolumeExpansion', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
