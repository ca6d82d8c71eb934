import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Deployment: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'DeploymentSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'DeploymentStatus', omitempty: true, optional: true },
    },
    DeploymentCondition: {
      type: { number: 1, type: 'string', enum: 'DeploymentConditionType' },
      status: { number: 2, type: 'string' },
      lastUpdateTime: { number: 6, type: 'meta.v1.Time', omitempty: true, optional: true },
      lastTransitionTime: { number: 7, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 4, type: 'string', omitempty: true, optional: true },
      message: { number: 5, type: 'string', omitempty: true, optional: true },
    },
    DeploymentList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'Deployment', repeated: true },
    },
    DeploymentSpec: {
      replicas: { number: 1, type: 'int32', pointer: true, omitempty: true, optional: true },
      selector: { number: 2, type: 'meta.v1.LabelSelector', pointer: true },
      template: { number: 3, type: 'core.v1.PodTemplateSpec' },
      strategy: { number: 4, type: 'DeploymentStrategy', omitempty: true, optional: true, patchStrategy: 'retainKeys' },
      minReadySeconds: { number: 5, type: 'int32', omitempty: true, optional: true },
      revisionHistoryLimit: { number: 6, type: 'int32', pointer: true, omitempty: true, optional: true },
      paused: { number: 7, type: 'bool', omitempty: true, optional: true },
      progressDeadlineSeconds: { number: 9, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
    DeploymentStatus: {
      observedGeneration: { number: 1, type: 'int64', omitempty: true, optional: true },
      replicas: { number: 2, type: 'int32', omitempty: true, optional: true },
      updatedReplicas: { number: 3, type: 'int32', omitempty: true, optional: true },
      readyReplicas: { number: 7, type: 'int32', omitempty: true, optional: true },
      availableReplicas: { number: 4, type: 'int32', omitempty: true, optional: true },
      unavailableReplicas: { number: 5, type: 'int32', omitempty: true, optional: true },
      conditions: {
        number: 6,
        type: 'DeploymentCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
      },
      collisionCount: { number: 8, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
    DeploymentStrategy: {
      type: { number: 1, type: 'string', omitempty: true, optional: true, enum: 'DeploymentStrategyType' },
      rollingUpdate: { number: 2, type: 'RollingUpdateDeployment', pointer: true, omitempty: true, optional: true },
    },
    RollingUpdateDeployment: {
      maxUnavailable: { number: 1, type: 'intstr.IntOrString', pointer: true, omitempty: true, optional: true },
      maxSurge: { number: 2, type: 'intstr.IntOrString', pointer: true, omitempty: true, optional: true },
    },
  },
  enums: {
    DeploymentConditionType: ['Available', 'Progressing', 'ReplicaFailure'],
    DeploymentStrategyType: ['Recreate', 'RollingUpdate'],
  },
  resources: [
    {
      resource: 'deployments',
      singular: 'deployment',
      kind: 'Deployment',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['deploy'],
      categories: ['all'],
      subresources: [
        { name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: ['get', 'patch', 'update'] },
        { name: 'status', kind: 'Deployment', verbs: ['get', 'patch', 'update'] },
      ],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Ready', type: 'string' },
        { name: 'Up-to-date', type: 'string' },
        { name: 'Available', type: 'string' },
        { name: 'Age', type: 'string' },
        { name: 'Containers', type: 'string', priority: 1 },
        { name: 'Images', type: 'string', priority: 1 },
        { name: 'Selector', type: 'string', priority: 1 },
      ],
    },
  ],
};
