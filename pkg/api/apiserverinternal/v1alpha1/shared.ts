import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ServerStorageVersion: {
      apiServerID: { number: 1, type: 'string', omitempty: true, optional: true },
      encodingVersion: { number: 2, type: 'string', omitempty: true, optional: true },
      decodableVersions: {
        number: 3,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'set',
      },
    },
    StorageVersion: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'StorageVersionSpec' },
      status: { number: 3, type: 'StorageVersionStatus' },
    },
    StorageVersionCondition: {
      type: { number: 1, type: 'string', enum: 'StorageVersionConditionType' },
      status: { number: 2, type: 'string', enum: 'ConditionStatus' },
      observedGeneration: { number: 3, type: 'int64', omitempty: true, optional: true },
      lastTransitionTime: { number: 4, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 5, type: 'string' },
      message: { number: 6, type: 'string', omitempty: true, optional: true },
    },
    StorageVersionList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'StorageVersion', repeated: true },
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
      },
      commonEncodingVersion: { number: 2, type: 'string', pointer: true, omitempty: true, optional: true },
      conditions: {
        number: 3,
        type: 'StorageVersionCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        listType: 'map',
        listMapKeys: ['type'],
      },
    },
  },
  enums: {
    ConditionStatus: ['False', 'True', 'Unknown'],
    StorageVersionConditionType: ['AllEncodingVersionsEqual'],
  },
};
