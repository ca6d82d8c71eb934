import { defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    CSINode: object('The storage drivers of a node. Named as the node.', {
      spec: required(2, 'CSINodeSpec', 'What the object is meant to be.'),
    }),
    CSINodeDriver: message('A driver on a node.', {
      name: required(1, 'string', 'Name of the driver.'),
      nodeID: required(2, 'string', 'Name that the driver has for the node.'),
      topologyKeys: optional(3, 'string[]', { omitempty: false }, 'Labels of the node that say from where volumes can be reached.'),
      allocatable: pointer(4, 'VolumeNodeResources', 'Volumes that the driver can have on the node.'),
    }),
    CSINodeSpec: message('The drivers of a node.', {
      drivers: required(1, 'CSINodeDriver[]', { patchMergeKey: 'name' }, 'The drivers. Empty once none is left.'),
    }),
    VolumeNodeResources: message('Volumes that a driver can have on a node.', {
      count: pointer(1, 'int32', { minimum: 0 }, 'Most volumes in use at the same time. Unset: no limit.'),
    }),
  },
  resources: [
    {
      resource: 'csinodes',
      kind: 'CSINode',
      namespaced: false,
      columns: ['Name', { name: 'Drivers', type: 'integer' }, 'Age'],
    },
  ],
});
