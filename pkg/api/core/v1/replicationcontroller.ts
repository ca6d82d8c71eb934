import { declaration as replicaSets } from '#api/apps/v1/replicaset.js';
import { defineTypes, message, object, optional, pointer, required, scale, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ReplicationController: object('Keeps a number of equal pods running. Superseded by ReplicaSet and Deployment.', {
      spec: optional(2, 'ReplicationControllerSpec', 'What the object is meant to be.'),
      status: optional(3, 'ReplicationControllerStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    ReplicationControllerCondition: message("One aspect of a ReplicationController's state.", {
      type: required(1, 'string', { enum: 'ReplicationControllerConditionType' }, 'Aspect that the condition describes.'),
      status: required(2, 'string', { enum: 'ConditionStatus' }, 'Whether the condition holds: `True`, `False` or `Unknown`.'),
      lastTransitionTime: optional(3, 'meta.v1.Time', 'When the status last changed.'),
      reason: optional(4, 'string', 'One CamelCase word on why the status last changed, for programs.'),
      message: optional(5, 'string', 'Details of the last change of the status, for people.'),
    }),
    ReplicationControllerSpec: message('What a ReplicationController keeps running.', {
      replicas: pointer(1, 'int32', 'Number of pods wanted. Default 1.'),
      minReadySeconds: optional(4, 'int32', 'Seconds that a pod must be ready without a container failing before it counts as available. Default 0.'),
      selector: optional(2, 'map<string, string>', { mapType: 'atomic' }, "Labels of the pods that count; must match those of the template. Default: the template's labels."),
      template: pointer(3, 'PodTemplateSpec', 'The pods to make when there are too few.'),
    }),
    ReplicationControllerStatus: message('What was last observed of a ReplicationController.', {
      ...replicaSets.types.ReplicaSetStatus.fields,
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
