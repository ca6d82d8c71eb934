import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    CSINode: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: { number: 2, type: 'CSINodeSpec', doc: 'What the object is meant to be.' },
    },
    CSINodeDriver: {
      name: { number: 1, type: 'string', doc: 'Name of the driver.' },
      nodeID: { number: 2, type: 'string', doc: 'Name that the driver has for the node.' },
      topologyKeys: {
        number: 3,
        type: 'string',
        repeated: true,
        optional: true,
        doc: 'Labels of the node that say from where volumes can be reached.',
      },
      allocatable: {
        number: 4,
        type: 'VolumeNodeResources',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Volumes that the driver can have on the node.',
      },
    },
    CSINodeList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'CSINode', repeated: true, doc: 'The objects of the list.' },
    },
    CSINodeSpec: {
      drivers: {
        number: 1,
        type: 'CSINodeDriver',
        repeated: true,
        patchStrategy: 'merge',
        patchMergeKey: 'name',
        doc: 'The drivers. Empty once none is left.',
      },
    },
    VolumeNodeResources: {
      count: {
        number: 1,
        type: 'int32',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Most volumes in use at the same time. Unset: no limit.',
      },
    },
  },
  docs: {
    CSINode: 'The storage drivers of a node. Named as the node.',
    CSINodeDriver: 'A driver on a node.',
    CSINodeList: 'A list of CSINode objects.',
    CSINodeSpec: 'The drivers of a node.',
    VolumeNodeResources: 'Volumes that a driver can have on a node.',
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
