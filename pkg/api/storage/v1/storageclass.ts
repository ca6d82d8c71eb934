import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    StorageClass: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      provisioner: { number: 2, type: 'string', doc: 'Who makes the volumes.' },
      parameters: {
        number: 3,
        type: 'string',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Parameters for the provisioner. At most 512.',
      },
      reclaimPolicy: {
        number: 4,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'What happens to a volume once its claim is gone: `Delete` or `Retain`. Default `Delete`.',
      },
      mountOptions: {
        number: 5,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Options for mounting the volumes. They are not checked.',
      },
      allowVolumeExpansion: {
        number: 6,
        type: 'bool',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Whether claims may be enlarged. Default false.',
      },
      volumeBindingMode: {
        number: 7,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        enum: 'VolumeBindingMode',
        doc: '`Immediate` binds a claim at once, `WaitForFirstConsumer` once a pod needs it. Default `Immediate`.',
      },
      allowedTopologies: {
        number: 8,
        type: 'core.v1.TopologySelectorTerm',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'atomic',
        doc: 'Places where volumes may be made. Empty: all.',
      },
    },
    StorageClassList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'StorageClass', repeated: true, doc: 'The objects of the list.' },
    },
  },
  docs: {
    StorageClass: 'A kind of storage that claims can ask for. Only `allowVolumeExpansion` and metadata can be changed.',
    StorageClassList: 'A list of StorageClass objects.',
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
