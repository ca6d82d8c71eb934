import { condition, defineTypes, message, object, optional, pointer, required, scale, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ReplicationController: object('Keeps a number of equal pods running. Superseded by ReplicaSet and Deployment.', {
      spec: optional(2, 'ReplicationControllerSpec', 'What the object is meant to be.'),
      status: optional(3, 'ReplicationControllerStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    ReplicationControllerCondition: condition("One aspect of a ReplicationController's state.", { type: { enum: 'ReplicationControllerConditionType' }, status: { enum: 'ConditionStatus' } }),
    ReplicationControllerSpec: message('What a ReplicationController keeps running.', {
      replicas: pointer(1, 'int32', { minimum: 0, default: 1 }, 'Number of pods wanted.'),
      minReadySeconds: optional(4, 'int32', { minimum: 0 }, 'Seconds that a pod must be ready without a container failing before it counts as available. Default 0.'),
      selector: optional(2, 'map<string, string>', { mapType: 'atomic' }, "Labels of the pods that count; must match those of the template. Default: the template's labels."),
      template: pointer(3, 'PodTemplateSpec', 'The pods to make when there are too few.'),
    }),
    ReplicationControllerStatus: message('What was last observed of a ReplicationController.', {
      replicas: required(1, 'int32', { minimum: 0 }, 'Number of pods.'),
      fullyLabeledReplicas: optional(2, 'int32', { minimum: 0 }, 'Pods that have all labels of the template.'),
      readyReplicas: optional(4, 'int32', { minimum: 0 }, 'Pods that are ready.'),
      availableReplicas: optional(5, 'int32', { minimum: 0 }, 'Pods that have been ready for `minReadySeconds`.'),
      observedGeneration: optional(3, 'int64', { minimum: 0 }, 'Generation of the spec that this status describes.'),
      conditions: optional(6, 'ReplicationControllerCondition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
  },
  enums: {
    ReplicationControllerConditionType: ['ReplicaFailure'],
  },
  resources: [
    {
      resource: 'replicationcontrollers',
      kind: 'ReplicationController',
      shortNames: ['rc'],
      categories: ['all'],
      subresources: [scale, 'status'],
      columns: ['Name', { name: 'Desired', type: 'integer' }, { name: 'Current', type: 'integer' }, { name: 'Ready', type: 'integer' }, 'Age', ...wide('Containers', 'Images', 'Selector')],
    },
  ],
});
