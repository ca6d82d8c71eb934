import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    RollingUpdateStatefulSetStrategy: {
      partition: { number: 1, type: 'int32', pointer: true, omitempty: true, optional: true },
      maxUnavailable: { number: 2, type: 'intstr.IntOrString', pointer: true, omitempty: true, optional: true },
    },
    StatefulSet: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'StatefulSetSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'StatefulSetStatus', omitempty: true, optional: true },
    },
    StatefulSetCondition: {
      type: { number: 1, type: 'string' },
      status: { number: 2, type: 'string' },
      lastTransitionTime: { number: 3, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 4, type: 'string', omitempty: true, optional: true },
      message: { number: 5, type: 'string', omitempty: true, optional: true },
    },
    StatefulSetList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'StatefulSet', repeated: true },
    },
    StatefulSetPersistentVolumeClaimRetentionPolicy: {
      whenDeleted: {
        number: 1,
        type: 'string',
        omitempty: true,
        optional: true,
        enum: 'PersistentVolumeClaimRetentionPolicyType',
      },
      whenScaled: {
        number: 2,
        type: 'string',
        omitempty: true,
        optional: true,
        enum: 'PersistentVolumeClaimRetentionPolicyType',
      },
    },
    StatefulSetSpec: {
      replicas: { number: 1, type: 'int32', pointer: true, omitempty: true, optional: true },
      selector: { number: 2, type: 'meta.v1.LabelSelector', pointer: true },
      template: { number: 3, type: 'core.v1.PodTemplateSpec' },
      volumeClaimTemplates: {
        number: 4,
        type: 'core.v1.PersistentVolumeClaim',
        repeated: true,
        omitempty: true,
        optional: true,
      },
      serviceName: { number: 5, type: 'string' },
      podManagementPolicy: {
        number: 6,
        type: 'string',
        omitempty: true,
        optional: true,
        enum: 'PodManagementPolicyType',
      },
      updateStrategy: { number: 7, type: 'StatefulSetUpdateStrategy', omitempty: true, optional: true },
      revisionHistoryLimit: { number: 8, type: 'int32', pointer: true, omitempty: true, optional: true },
      minReadySeconds: { number: 9, type: 'int32', omitempty: true, optional: true },
      persistentVolumeClaimRetentionPolicy: {
        number: 10,
        type: 'StatefulSetPersistentVolumeClaimRetentionPolicy',
        pointer: true,
        omitempty: true,
        optional: true,
      },
    },
    StatefulSetStatus: {
      observedGeneration: { number: 1, type: 'int64', omitempty: true, optional: true },
      replicas: { number: 2, type: 'int32' },
      readyReplicas: { number: 3, type: 'int32', omitempty: true, optional: true },
      currentReplicas: { number: 4, type: 'int32', omitempty: true, optional: true },
      updatedReplicas: { number: 5, type: 'int32', omitempty: true, optional: true },
      currentRevision: { number: 6, type: 'string', omitempty: true, optional: true },
      updateRevision: { number: 7, type: 'string', omitempty: true, optional: true },
      collisionCount: { number: 9, type: 'int32', pointer: true, omitempty: true, optional: true },
      conditions: {
        number: 10,
        type: 'StatefulSetCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
      },
      availableReplicas: { number: 11, type: 'int32', optional: true },
    },
    StatefulSetUpdateStrategy: {
      type: { number: 1, type: 'string', omitempty: true, optional: true, enum: 'StatefulSetUpdateStrategyType' },
      rollingUpdate: {
        number: 2,
        type: 'RollingUpdateStatefulSetStrategy',
        pointer: true,
        omitempty: true,
        optional: true,
      },
    },
  },
  enums: {
    PersistentVolumeClaimRetentionPolicyType: ['Delete', 'Retain'],
    PodManagementPolicyType: ['OrderedReady', 'Parallel'],
    StatefulSetUpdateStrategyType: ['OnDelete', 'RollingUpdate'],
  },
  resources: [
    {
      resource: 'statefulsets',
      singular: 'statefulset',
      kind: 'StatefulSet',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['sts'],
      categories: ['all'],
      subresources: [
        { name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: ['get', 'patch', 'update'] },
        { name: 'status', kind: 'StatefulSet', verbs: ['get', 'patch', 'update'] },
      ],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Ready', type: 'string' },
        { name: 'Age', type: 'string' },
        { name: 'Containers', type: 'string', priority: 1 },
        { name: 'Images', type: 'string', priority: 1 },
      ],
    },
  ],
};
