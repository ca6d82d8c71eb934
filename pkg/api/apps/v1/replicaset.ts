import { declaration as replicationControllers } from '#api/core/v1/replicationcontroller.js';
import { condition, defineTypes, message, object, optional, required, scale, wide } from '#apimachinery/schema/language.js';

const { types: controllers } = replicationControllers;

export const declaration = defineTypes({
  types: {
    ReplicaSet: object('Keeps a number of equal pods running. Normally made by a Deployment.', {
      spec: optional(2, 'ReplicaSetSpec', 'What the object is meant to be.'),
      status: optional(3, 'ReplicaSetStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    ReplicaSetCondition: condition("One aspect of a ReplicaSet's state.", { type: { enum: 'ReplicaSetConditionType' } }),
    ReplicaSetSpec: message('What a ReplicaSet keeps running.', {
      ...controllers.ReplicationControllerSpec.fields,
      selector: required(2, 'meta.v1.LabelSelector', { immutable: true, pointer: true }, 'Labels of the pods that count. Must match those of the template; cannot be changed.'),
      template: optional(3, 'core.v1.PodTemplateSpec', 'The pods to make when there are too few.'),
    }),
    ReplicaSetStatus: message('What was last observed of a ReplicaSet.', {
      ...controllers.ReplicationControllerStatus.fields,
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
