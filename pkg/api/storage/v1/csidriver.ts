import { defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    CSIDriver: object('A driver of storage, and how the system deals with it.', {
      spec: required(2, 'CSIDriverSpec', 'What the object is meant to be.'),
    }),
    CSIDriverSpec: message('How the system deals with a driver.', {
      attachRequired: pointer(1, 'bool', { default: true }, 'Whether volumes must be attached to a node before they are mounted. Cannot be changed.'),
      podInfoOnMount: pointer(2, 'bool', { default: false }, 'Whether the driver is told about the pod when it mounts. Cannot be changed.'),
      volumeLifecycleModes: optional(3, 'string[]', { default: ['Persistent'], listType: 'set', enum: 'VolumeLifecycleMode' }, 'Kinds of volumes that the driver offers: `Persistent`, `Ephemeral` within pods. Cannot be changed. Default `Persistent`.'),
      storageCapacity: pointer(4, 'bool', { default: false }, 'Whether pods wait for a node where the driver reports enough capacity.'),
      fsGroupPolicy: pointer(5, 'string', { default: 'ReadWriteOnceWithFSType', enum: 'FSGroupPolicy' }, "When files are given to the pod's `fsGroup`: `ReadWriteOnceWithFSType`, `File` always, `None` never. Cannot be changed."),
      tokenRequests: optional(6, 'TokenRequest[]', { listType: 'atomic' }, "Tokens of the pod's service account that the driver is given when it mounts."),
      requiresRepublish: pointer(7, 'bool', { default: false }, 'Mounts again and again, for drivers whose volumes change.'),
    }),
    TokenRequest: message('A token that a driver is given.', {
      audience: required(1, 'string', 'Who the token is meant for. Empty: the API server.'),
      expirationSeconds: pointer(2, 'int64', { minimum: 600, maximum: 4294967296 }, 'Seconds that the token is valid. Default 3600, minimum 600, maximum 4294967296.'),
    }),
  },
  enums: {
    FSGroupPolicy: ['File', 'None', 'ReadWriteOnceWithFSType'],
    VolumeLifecycleMode: ['Persistent', 'Ephemeral'],
  },
  resources: [
    {
      resource: 'csidrivers',
      kind: 'CSIDriver',
      namespaced: false,
      columns: ['Name', { name: 'AttachRequired', type: 'boolean' }, { name: 'PodInfoOnMount', type: 'boolean' }, { name: 'StorageCapacity', type: 'boolean' }, 'TokenRequests', { name: 'RequiresRepublish', type: 'boolean' }, 'Modes', 'Age'],
    },
  ],
});
