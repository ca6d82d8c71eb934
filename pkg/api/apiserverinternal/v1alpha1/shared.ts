import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ServerStorageVersion: {
      apiServerID: { number: 1, type: 'string', omitempty: true, optional: true, doc: 'Identity of the server.' },
      encodingVersion: { number: 2, type: 'string', omitempty: true, optional: true, doc: 'Version that it writes.' },
      decodableVersions: {
        number: 3,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'set',
        doc: 'Versions that it reads.',
      },
    },
    StorageVersion: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: { number: 2, type: 'StorageVersionSpec', doc: 'Empty.' },
      status: {
        number: 3,
        type: 'StorageVersionStatus',
        doc: 'What was last observed of the object. Written by the system, never by users.',
      },
    },
    StorageVersionCondition: {
      type: {
        number: 1,
        type: 'string',
        enum: 'StorageVersionConditionType',
        doc: 'Aspect that the condition describes.',
      },
      status: {
        number: 2,
        type: 'string',
        enum: 'ConditionStatus',
        doc: 'Whether the condition holds: `True`, `False` or `Unknown`.',
      },
      observedGeneration: {
        number: 3,
        type: 'int64',
        omitempty: true,
        optional: true,
        doc: 'Generation of the spec that the condition describes.',
      },
      lastTransitionTime: {
        number: 4,
        type: 'meta.v1.Time',
        omitempty: true,
        optional: true,
        doc: 'When the status last changed.',
      },
      reason: { number: 5, type: 'string', doc: 'One CamelCase word on why the status last changed, for programs.' },
      message: {
        number: 6,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Details of the last change of the status, for people.',
      },
    },
    StorageVersionList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'StorageVersion', repeated: true, doc: 'The objects of the list.' },
    },
    StorageVersionSpec: {},
    StorageVersionStatus: {
      storageVersions: {
        number: 1,
        type: 'ServerStorageVersion',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'map',
        listMapKeys: ['apiServerID'],
        doc: 'Versions by server.',
      },
      commonEncodingVersion: {
        number: 2,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Version that all servers write. Unset while they differ.',
      },
      conditions: {
        number: 3,
        type: 'StorageVersionCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'map',
        listMapKeys: ['type'],
        doc: 'Latest observations of single aspects of the state, one per condition type.',
      },
    },
  },
  docs: {
    ServerStorageVersion: 'Versions that one API server writes and reads.',
    StorageVersion: 'Versions of a resource that the API servers write and read.',
    StorageVersionCondition: "One aspect of a StorageVersion's state.",
    StorageVersionList: 'A list of StorageVersion objects.',
    StorageVersionSpec: 'Empty.',
    StorageVersionStatus: 'Versions that the API servers write and read.',
  },
  enums: {
    ConditionStatus: ['False', 'True', 'Unknown'],
    StorageVersionConditionType: ['AllEncodingVersionsEqual'],
  },
};
