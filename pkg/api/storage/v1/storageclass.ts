import { defineTypes, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    StorageClass: object('A kind of storage that claims can ask for. Only `allowVolumeExpansion` and metadata can be changed.', {
      provisioner: required(2, 'string', 'Who makes the volumes.'),
      parameters: optional(3, 'map<string, string>', 'Parameters for the provisioner. At most 512.'),
      reclaimPolicy: pointer(4, 'string', { default: 'Delete' }, 'What happens to a volume once its claim is gone: `Delete` or `Retain`.'),
      mountOptions: optional(5, 'string[]', 'Options for mounting the volumes. They are not checked.'),
      allowVolumeExpansion: pointer(6, 'bool', 'Whether claims may be enlarged. Default false.'),
      volumeBindingMode: pointer(7, 'string', { immutable: true, default: 'Immediate', enum: 'VolumeBindingMode' }, '`Immediate` binds a claim at once, `WaitForFirstConsumer` once a pod needs it.'),
      allowedTopologies: optional(8, 'core.v1.TopologySelectorTerm[]', { listType: 'atomic' }, 'Places where volumes may be made. Empty: all.'),
    }),
  },
  enums: {
    VolumeBindingMode: ['Immediate', 'WaitForFirstConsumer'],
  },
  resources: [
    {
      resource: 'storageclasses',
      kind: 'StorageClass',
      namespaced: false,
      shortNames: ['sc'],
      columns: ['Name', 'Provisioner', 'ReclaimPolicy', 'VolumeBindingMode', 'AllowVolumeExpansion', 'Age'],
    },
  ],
});
