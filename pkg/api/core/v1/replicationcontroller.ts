import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ReplicationController: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'ReplicationControllerSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'ReplicationControllerStatus', omitempty: true, optional: true },
    },
    ReplicationControllerCondition: {
      type: { number: 1, type: 'string', enum: 'ReplicationControllerConditionType' },
      status: { number: 2, type: 'string', enum: 'ConditionStatus' },
      lastTransitionTime: { number: 3, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 4, type: 'string', omitempty: true, optional: true },
      message: { number: 5, type: 'string', omitempty: true, optional: true },
    },
    ReplicationControllerList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'ReplicationController', repeated: true },
    },
    ReplicationControllerSpec: {
      replicas: { number: 1, type: 'int32', pointer: true, omitempty: true, optional: true },
      minReadySeconds: { number: 4, type: 'int32', omitempty: true, optional: true },
      selector: { number: 2, type: 'string', map: 'string', omitempty: true, optional: true, mapType: 'atomic' },
      template: { number: 3, type: 'PodTemplateSpec', pointer: true, omitempty: true, optional: true },
    },
    ReplicationControllerStatus: {
      replicas: { number: 1, type: 'int32' },
      fullyLabeledReplicas: { number: 2, type: 'int32', omitempty: true, optional: true },
      readyReplicas: { number: 4, type: 'int32', omitempty: true, optional: true },
      availableReplicas: { number: 5, type: 'int32', omitempty: true, optional: true },
      observedGeneration: { number: 3, type: 'int64', omitempty: true, optional: true },
      conditions: {
        number: 6,
        type: 'ReplicationControllerCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
      },
    },
  },
  enums: {
    ReplicationControllerConditionType: ['ReplicaFailure'],
  },
  resources: [
    {
      resource: 'replicationcontrollers',
      singular: 'replicationcontroller',
      kind: 'ReplicationController',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['rc'],
      categories: ['all'],
      subresources: [
        { name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: ['get', 'patch', 'update'] },
        { name: 'status', kind: 'ReplicationController', verbs: ['get', 'patch', 'update'] },
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
