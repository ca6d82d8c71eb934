import { bareKind, defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Eviction: bareKind("Asks a pod to leave, within what disruption budgets allow. Posted to the pod's `eviction` subresource.", {
      metadata: optional(1, 'meta.v1.ObjectMeta', 'Name and namespace of the pod.'),
      deleteOptions: pointer(2, 'meta.v1.DeleteOptions', 'Options of the deletion.'),
    }),
    PodDisruptionBudget: object('Limits how many of a set of pods may be down at the same time for planned reasons.', {
      spec: optional(2, 'PodDisruptionBudgetSpec', 'What the object is meant to be.'),
      status: optional(3, 'PodDisruptionBudgetStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    PodDisruptionBudgetSpec: message('Which pods a budget is for, and how many may be down.', {
      minAvailable: pointer(1, 'intstr.IntOrString', { excludes: ['maxUnavailable'] }, 'Pods that must stay available: a number, or a percentage rounded up.'),
      selector: pointer(2, 'meta.v1.LabelSelector', { patchStrategy: 'replace' }, 'Labels of the pods. Empty selects all of the namespace, unset none.'),
      maxUnavailable: pointer(3, 'intstr.IntOrString', { excludes: ['minAvailable'] }, 'Pods that may be unavailable: a number, or a percentage rounded up.'),
    }),
    PodDisruptionBudgetStatus: message('What was last observed of a budget.', {
      observedGeneration: optional(1, 'int64', 'Generation of the spec that this status describes.'),
      disruptedPods: optional(2, 'map<string, meta.v1.Time>', 'Pods whose eviction was granted and that are not gone yet, with the time of the grant.'),
      disruptionsAllowed: required(3, 'int32', { minimum: 0 }, 'Pods that may be evicted now.'),
      currentHealthy: required(4, 'int32', { minimum: 0 }, 'Pods that are available.'),
      desiredHealthy: required(5, 'int32', { minimum: 0 }, 'Pods that must stay available.'),
      expectedPods: required(6, 'int32', { minimum: 0 }, 'Pods that should exist.'),
      conditions: optional(7, 'meta.v1.Condition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
  },
  resources: [
    {
      resource: 'poddisruptionbudgets',
      kind: 'PodDisruptionBudget',
      shortNames: ['pdb'],
      subresources: ['status'],
      columns: ['Name', 'Min Available', 'Max Unavailable', { name: 'Allowed Disruptions', type: 'integer' }, 'Age'],
    },
  ],
});
