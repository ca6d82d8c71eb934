import { defineTypes, message, object, optional, pointer, required, scale, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Deployment: object('Keeps a number of equal pods running and replaces them step by step when their template changes.', {
      spec: optional(2, 'DeploymentSpec', 'What the object is meant to be.'),
      status: optional(3, 'DeploymentStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    DeploymentCondition: message("One aspect of a Deployment's state.", {
      type: required(1, 'string', { enum: 'DeploymentConditionType' }, 'Aspect that the condition describes.'),
      status: required(2, 'string', 'Whether the condition holds: `True`, `False` or `Unknown`.'),
      lastUpdateTime: optional(6, 'meta.v1.Time', 'When the condition was last written.'),
      lastTransitionTime: optional(7, 'meta.v1.Time', 'When the status last changed.'),
      reason: optional(4, 'string', 'One CamelCase word on why the status last changed, for programs.'),
      message: optional(5, 'string', 'Details of the last change of the status, for people.'),
    }),
    DeploymentSpec: message('What a Deployment keeps running, and how it is updated.', {
      replicas: pointer(1, 'int32', { minimum: 0, default: 1 }, 'Number of pods wanted.'),
      selector: required(2, 'meta.v1.LabelSelector', { immutable: true, pointer: true }, 'Labels of the pods that count. Must match those of the template; cannot be changed.'),
      template: required(3, 'core.v1.PodTemplateSpec', 'The pods to run. Their restart policy must be `Always`.'),
      strategy: optional(4, 'DeploymentStrategy', { patchStrategy: 'retainKeys' }, 'How pods are replaced when the template changes.'),
      minReadySeconds: optional(5, 'int32', { minimum: 0 }, 'Seconds that a pod must be ready without a container failing before it counts as available. Default 0.'),
      revisionHistoryLimit: pointer(6, 'int32', { minimum: 0, default: 10 }, 'Old ReplicaSets to keep for a rollback.'),
      paused: optional(7, 'bool', 'Holds back the rollout of changes. Default false.'),
      progressDeadlineSeconds: pointer(9, 'int32', { minimum: 0, default: 600 }, 'Seconds without progress after which the rollout is reported as failed; it goes on trying. More than `minReadySeconds`.'),
    }),
    DeploymentStatus: message('What was last observed of a Deployment.', {
      observedGeneration: optional(1, 'int64', { minimum: 0 }, 'Generation of the spec that this status describes.'),
      replicas: optional(2, 'int32', { minimum: 0 }, 'Number of pods.'),
      updatedReplicas: optional(3, 'int32', { minimum: 0 }, 'Pods of the present template.'),
      readyReplicas: optional(7, 'int32', { minimum: 0 }, 'Pods that are ready.'),
      availableReplicas: optional(4, 'int32', { minimum: 0 }, 'Pods that have been ready for `minReadySeconds`.'),
      unavailableReplicas: optional(5, 'int32', { minimum: 0 }, 'Pods that are missing or not available yet.'),
      conditions: optional(6, 'DeploymentCondition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
      collisionCount: pointer(8, 'int32', { minimum: 0 }, 'Hash collisions so far, which go into the names of ReplicaSets.'),
    }),
    DeploymentStrategy: message('How the pods of a Deployment are replaced.', {
      type: optional(1, 'string', { enum: 'DeploymentStrategyType' }, '`RollingUpdate` replaces pods step by step, `Recreate` removes all old ones first. Default `RollingUpdate`.'),
      rollingUpdate: pointer(2, 'RollingUpdateDeployment', 'Settings of `RollingUpdate`.'),
    }),
    RollingUpdateDeployment: message('How a Deployment is updated step by step.', {
      maxUnavailable: pointer(1, 'intstr.IntOrString', 'Most pods that may be missing from the wanted number: a number, or a percentage of it rounded down. Not 0 together with `maxSurge`. Default 25%.'),
      maxSurge: pointer(2, 'intstr.IntOrString', 'Most pods that may exist beyond the wanted number: a number, or a percentage of it rounded up. Not 0 together with `maxUnavailable`. Default 25%.'),
    }),
  },
  enums: {
    DeploymentConditionType: ['Available', 'Progressing', 'ReplicaFailure'],
    DeploymentStrategyType: ['Recreate', 'RollingUpdate'],
  },
  resources: [
    {
      resource: 'deployments',
      kind: 'Deployment',
      shortNames: ['deploy'],
      categories: ['all'],
      subresources: [scale, 'status'],
      columns: ['Name', 'Ready', 'Up-to-date', 'Available', 'Age', ...wide('Containers', 'Images', 'Selector')],
    },
  ],
});
