import { condition, defineTypes, message, object, optional, pointer, required, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    DaemonSet: object('Runs one pod on every node, or on every node that qualifies.', {
      spec: optional(2, 'DaemonSetSpec', 'What the object is meant to be.'),
      status: optional(3, 'DaemonSetStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    DaemonSetCondition: condition("One aspect of a DaemonSet's state."),
    DaemonSetSpec: message('What a DaemonSet runs, and how it is updated.', {
      selector: required(1, 'meta.v1.LabelSelector', { immutable: true, pointer: true }, 'Labels of the pods that count. Must match those of the template; cannot be changed.'),
      template: required(2, 'core.v1.PodTemplateSpec', 'The pod to run on each node. Its restart policy must be `Always`.'),
      updateStrategy: optional(3, 'DaemonSetUpdateStrategy', 'How pods are replaced when the template changes.'),
      minReadySeconds: optional(4, 'int32', { minimum: 0 }, 'Seconds that a pod must be ready without a container failing before it counts as available. Default 0.'),
      revisionHistoryLimit: pointer(6, 'int32', { minimum: 0, default: 10 }, 'Old revisions to keep for a rollback.'),
    }),
    DaemonSetStatus: message('What was last observed of a DaemonSet.', {
      currentNumberScheduled: required(1, 'int32', { minimum: 0 }, 'Nodes that run the pod and should.'),
      numberMisscheduled: required(2, 'int32', { minimum: 0 }, 'Nodes that run the pod and should not.'),
      desiredNumberScheduled: required(3, 'int32', { minimum: 0 }, 'Nodes that should run the pod.'),
      numberReady: required(4, 'int32', { minimum: 0 }, 'Nodes that should run the pod and have a ready one.'),
      observedGeneration: optional(5, 'int64', { minimum: 0 }, 'Generation of the spec that this status describes.'),
      updatedNumberScheduled: optional(6, 'int32', { minimum: 0 }, 'Nodes whose pod is up to date.'),
      numberAvailable: optional(7, 'int32', { minimum: 0 }, 'Nodes whose pod has been ready for `minReadySeconds`.'),
      numberUnavailable: optional(8, 'int32', { minimum: 0 }, 'Nodes that should run the pod and have no available one.'),
      collisionCount: pointer(9, 'int32', { minimum: 0 }, 'Hash collisions so far, which go into the names of revisions.'),
      conditions: optional(10, 'DaemonSetCondition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
    DaemonSetUpdateStrategy: message('How the pods of a DaemonSet are replaced.', {
      type: optional(1, 'string', { enum: 'DaemonSetUpdateStrategyType' }, '`RollingUpdate` replaces pods step by step, `OnDelete` only those that are deleted. Default `RollingUpdate`.'),
      rollingUpdate: pointer(2, 'RollingUpdateDaemonSet', 'Settings of `RollingUpdate`.'),
    }),
    RollingUpdateDaemonSet: message('How a DaemonSet is updated step by step.', {
      maxUnavailable: pointer(1, 'intstr.IntOrString', 'Most nodes that may be without an available pod: a number, or a percentage of the nodes rounded up. 0 only with `maxSurge`. Default 1.'),
      maxSurge: pointer(2, 'intstr.IntOrString', { featureGate: 'DaemonSetUpdateSurge' }, 'Most nodes that may run the new pod beside the old one: a number, or a percentage of the nodes rounded up. 0 only with `maxUnavailable`. Default 0.'),
    }),
  },
  enums: {
    DaemonSetUpdateStrategyType: ['RollingUpdate', 'OnDelete'],
  },
  resources: [
    {
      resource: 'daemonsets',
      kind: 'DaemonSet',
      shortNames: ['ds'],
      categories: ['all'],
      subresources: ['status'],
      columns: ['Name', { name: 'Desired', type: 'integer' }, { name: 'Current', type: 'integer' }, { name: 'Ready', type: 'integer' }, { name: 'Up-to-date', type: 'integer' }, { name: 'Available', type: 'integer' }, 'Node Selector', 'Age', ...wide('Containers', 'Images', 'Selector')],
    },
  ],
});
