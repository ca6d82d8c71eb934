import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    DaemonSet: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'DaemonSetSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'DaemonSetStatus', omitempty: true, optional: true },
    },
    DaemonSetCondition: {
      type: { number: 1, type: 'string' },
      status: { number: 2, type: 'string' },
      lastTransitionTime: { number: 3, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 4, type: 'string', omitempty: true, optional: true },
      message: { number: 5, type: 'string', omitempty: true, optional: true },
    },
    DaemonSetList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'DaemonSet', repeated: true },
    },
    DaemonSetSpec: {
      selector: { number: 1, type: 'meta.v1.LabelSelector', pointer: true },
      template: { number: 2, type: 'core.v1.PodTemplateSpec' },
      updateStrategy: { number: 3, type: 'DaemonSetUpdateStrategy', omitempty: true, optional: true },
      minReadySeconds: { number: 4, type: 'int32', omitempty: true, optional: true },
      revisionHistoryLimit: { number: 6, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
    DaemonSetStatus: {
      currentNumberScheduled: { number: 1, type: 'int32' },
      numberMisscheduled: { number: 2, type: 'int32' },
      desiredNumberScheduled: { number: 3, type: 'int32' },
      numberReady: { number: 4, type: 'int32' },
      observedGeneration: { number: 5, type: 'int64', omitempty: true, optional: true },
      updatedNumberScheduled: { number: 6, type: 'int32', omitempty: true, optional: true },
      numberAvailable: { number: 7, type: 'int32', omitempty: true, optional: true },
      numberUnavailable: { number: 8, type: 'int32', omitempty: true, optional: true },
      collisionCount: { number: 9, type: 'int32', pointer: true, omitempty: true, optional: true },
      conditions: {
        number: 10,
        type: 'DaemonSetCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
      },
    },
    DaemonSetUpdateStrategy: {
      type: { number: 1, type: 'string', omitempty: true, optional: true, enum: 'DaemonSetUpdateStrategyType' },
      rollingUpdate: { number: 2, type: 'RollingUpdateDaemonSet', pointer: true, omitempty: true, optional: true },
    },
    RollingUpdateDaemonSet: {
      maxUnavailable: { number: 1, type: 'intstr.IntOrString', pointer: true, omitempty: true, optional: true },
      maxSurge: { number: 2, type: 'intstr.IntOrString', pointer: true, omitempty: true, optional: true },
    },
  },
  enums: {
    DaemonSetUpdateStrategyType: ['OnDelete', 'RollingUpdate'],
  },
  resources: [
    {
      resource: 'daemonsets',
      singular: 'daemonset',
      kind: 'DaemonSet',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['ds'],
      categories: ['all'],
      subresources: [{ name: 'status', kind: 'DaemonSet', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Desired', type: 'integer' },
        { name: 'Current', type: 'integer' },
        { name: 'Ready', type: 'integer' },
        { name: 'Up-to-date', type: 'integer' },
        { name: 'Available', type: 'integer' },
        { name: 'Node Selector', type: 'string' },
        { name: 'Age', type: 'string' },
        { name: 'Containers', type: 'string', priority: 1 },
        { name: 'Images', type: 'string', priority: 1 },
        { name: 'Selector', type: 'string', priority: 1 },
      ],
    },
  ],
};
