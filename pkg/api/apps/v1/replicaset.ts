import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ReplicaSet: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'ReplicaSetSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'ReplicaSetStatus', omitempty: true, optional: true },
    },
    ReplicaSetCondition: {
      type: { number: 1, type: 'string', enum: 'ReplicaSetConditionType' },
      status: { number: 2, type: 'string' },
      lastTransitionTime: { number: 3, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 4, type: 'string', omitempty: true, optional: true },
      message: { number: 5, type: 'string', omitempty: true, optional: true },
    },
    ReplicaSetList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'ReplicaSet', repeated: true },
    },
    ReplicaSetSpec: {
      replicas: { number: 1, type: 'int32', pointer: true, omitempty: true, optional: true },
      minReadySeconds: { number: 4, type: 'int32', omitempty: true, optional: true },
      selector: { number: 2, type: 'meta.v1.LabelSelector', pointer: true },
      template: { number: 3, type: 'core.v1.PodTemplateSpec', omitempty: true, optional: true },
    },
    ReplicaSetStatus: {
      replicas: { number: 1, type: 'int32' },
      fullyLabeledReplicas: { number: 2, type: 'int32', omitempty: true, optional: true },
      readyReplicas: { number: 4, type: 'int32', omitempty: true, optional: true },
      availableReplicas: { number: 5, type: 'int32', omitempty: true, optional: true },
      observedGeneration: { number: 3, type: 'int64', omitempty: true, optional: true },
      conditions: {
        number: 6,
        type: 'ReplicaSetCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
      },
    },
  },
  enums: {
    ReplicaSetConditionType: ['ReplicaFailure'],
  },
  resources: [
    {
      resource: 'replicasets',
      singular: 'replicaset',
      kind: 'ReplicaSet',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['rs'],
      categories: ['all'],
      subresources: [
        { name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: ['get', 'patch', 'update'] },
        { name: 'status', kind: 'ReplicaSet', verbs: ['get', 'patch', 'update'] },
      ],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Desired', type: 'integer' },
        { name: 'Current', type: 'integer' },
        { name: 'Ready', type: 'integer' },
        { name: 'Age', type: 'string' },
        { name: 'Containers', type: 'string', priority: 1 },
        { name: 'Images', type: 'string', priority: 1 },
        { name: 'Selector', type: 'string', priority: 1 },
      ],
    },
  ],
};
