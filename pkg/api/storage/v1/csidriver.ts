import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    CSIDriver: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'CSIDriverSpec' },
    },
    CSIDriverList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'CSIDriver', repeated: true },
    },
    CSIDriverSpec: {
      attachRequired: { number: 1, type: 'bool', pointer: true, omitempty: true, optional: true },
      podInfoOnMount: { number: 2, type: 'bool', pointer: true, omitempty: true, optional: true },
      volumeLifecycleModes: {
        number: 3,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'set',
        enum: 'VolumeLifecycleMode',
      },
      storageCapacity: {
        number: 4,
        type: 'bool',
        pointer: true,
        omitempty: true,
        optional: true,
        featureGate: 'CSIStorageCapacity',
      },
      fsGroupPolicy: {
        number: 5,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        enum: 'FSGroupPolicy',
      },
      tokenRequests: {
        number: 6,
        type: 'TokenRequest',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'atomic',
      },
      requiresRepublish: { number: 7, type: 'bool', pointer: true, omitempty: true, optional: true },
    },
    TokenRequest: {
      audience: { number: 1, type: 'string' },
      expirationSeconds: { number: 2, type: 'int64', pointer: true, omitempty: true, optional: true },
    },
  },
  enums: {
    FSGroupPolicy: ['File', 'None', 'ReadWriteOnceWithFSType'],
    VolumeLifecycleMode: ['Ephemeral', 'Persistent'],
  },
  resources: [
    {
      resource: 'csidrivers',
      singular: 'csidriver',
      kind: 'CSIDriver',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'AttachRequired', type: 'boolean' },
        { name: 'PodInfoOnMount', type: 'boolean' },
        { name: 'Modes', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
