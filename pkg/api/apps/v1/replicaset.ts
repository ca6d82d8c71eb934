import { defineTypes, message, object, optional, pointer, required, scale, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ReplicaSet: object('Keeps a number of equal pods running. Normally made by a Deployment.', {
      spec: optional(2, 'ReplicaSetSpec', 'What the object is meant to be.'),
      status: optional(3, 'ReplicaSetStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    ReplicaSetCondition: message("One aspect of a ReplicaSet's state.", {
      type: required(1, 'string', { enum: 'ReplicaSetConditionType' }, 'Aspect that the condition describes.'),
      status: required(2, 'string', 'Whether the condition holds: `True`, `False` or `Unknown`.'),
      lastTransitionTime: optional(3, 'meta.v1.Time', 'When the status last changed.'),
      reason: optional(4, 'string', 'One CamelCase word on why the status last changed, for programs.'),
      message: optional(5, 'string', 'Details of the last change of the status, for people.'),
    }),
    ReplicaSetSpec: message('What a ReplicaSet keeps running.', {
      replicas: pointer(1, 'int32', 'Number of pods wanted. Default 1.'),
      minReadySeconds: optional(4, 'int32', 'Seconds that a pod must be ready without a container failing before it counts as available. Default 0.'),
      selector: required(2, 'meta.v1.LabelSelector', { pointer: true }, 'Labels of the pods that count. Must match those of the template; cannot be changed.'),
      template: optional(3, 'core.v1.PodTemplateSpec', 'The pods to make when there are too few.'),
    }),
    ReplicaSetStatus: message('What was last observed of a ReplicaSet.', {
      replicas: required(1, 'int32', 'Number of pods.'),
      fullyLabeledReplicas: optional(2, 'int32', 'Pods that have all labels of the template.'),
      readyReplicas: optional(4, 'int32', 'Pods that are ready.'),
      availableReplicas: optional(5, 'int32', 'Pods that have been ready for `minReadySeconds`.'),
      observedGeneration: optional(3, 'int64', 'Generation of the spec that this status describes.'),
      conditions: optional(6, 'ReplicaSetCondition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
  },
  enums: {
    ReplicaSetConditionType: ['ReplicaFailure'],
  },
  resources: [
    {
      resource: 'replicasets',
      kind: 'ReplicaSet',
      shortNames: ['rs'],
      categories: ['all'],
      subresources: [scale, 'status'],
      columns: ['Name', { name: 'Desired', type: 'integer' }, { name: 'Current', type: 'integer' }, { name: 'Ready', type: 'integer' }, 'Age', ...wide('Containers', 'Images', 'Selector')],
    },
  ],
});
