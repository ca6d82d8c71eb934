import { defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ServerStorageVersion: message('Versions that one API server writes and reads.', {
      apiServerID: optional(1, 'string', 'Identity of the server.'),
      encodingVersion: optional(2, 'string', 'Version that it writes.'),
      decodableVersions: optional(3, 'string[]', { listType: 'set' }, 'Versions that it reads.'),
    }),
    StorageVersion: object('Versions of a resource that the API servers write and read.', {
      spec: required(2, 'StorageVersionSpec', 'Empty.'),
      status: required(3, 'StorageVersionStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    StorageVersionCondition: message("One aspect of a StorageVersion's state.", {
      type: required(1, 'string', { enum: 'StorageVersionConditionType' }, 'Aspect that the condition describes.'),
      status: required(2, 'string', { enum: 'ConditionStatus' }, 'Whether the condition holds: `True`, `False` or `Unknown`.'),
      observedGeneration: optional(3, 'int64', 'Generation of the spec that the condition describes.'),
      lastTransitionTime: optional(4, 'meta.v1.Time', 'When the status last changed.'),
      reason: required(5, 'string', 'One CamelCase word on why the status last changed, for programs.'),
      message: optional(6, 'string', 'Details of the last change of the status, for people.'),
    }),
    StorageVersionSpec: message('Empty.', {}),
    StorageVersionStatus: message('Versions that the API servers write and read.', {
      storageVersions: optional(1, 'ServerStorageVersion[]', { listMapKeys: ['apiServerID'] }, 'Versions by server.'),
      commonEncodingVersion: pointer(2, 'string', 'Version that all servers write. Unset while they differ.'),
      conditions: optional(3, 'StorageVersionCondition[]', { listMapKeys: ['type'] }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
  },
  enums: {
    ConditionStatus: ['False', 'True', 'Unknown'],
    StorageVersionConditionType: ['AllEncodingVersionsEqual'],
  },
  resources: [
    {
      resource: 'storageversions',
      kind: 'StorageVersion',
      namespaced: false,
      featureGate: 'StorageVersionAPI',
      subresources: ['status'],
      columns: ['Name', 'CommonEncodingVersion', 'StorageVersions', 'Age'],
    },
  ],
});
