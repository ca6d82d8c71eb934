import { condition, defineTypes, message, object, optional } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Namespace: object('A scope for names: objects of different namespaces may be called the same. Policies and quotas are set per namespace.', {
      spec: optional(2, 'NamespaceSpec', 'What the object is meant to be.'),
      status: optional(3, 'NamespaceStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    NamespaceCondition: condition("One aspect of a namespace's state, mostly of its deletion.", { type: { enum: 'NamespaceConditionType' }, status: { enum: 'ConditionStatus' } }, {}, 4),
    NamespaceSpec: message('What a namespace is meant to be.', {
      finalizers: optional(1, 'string[]', { enum: 'FinalizerName' }, 'Who must still clean up before the namespace can go. Changed through the `finalize` subresource only.'),
    }),
    NamespaceStatus: message('What was last observed of a namespace.', {
      phase: optional(1, 'string', { enum: 'NamespacePhase' }, '`Active`, or `Terminating` once it is being deleted.'),
      conditions: optional(2, 'NamespaceCondition[]', { patchMergeKey: 'type' }, 'Latest observations of single aspects of the state, one per condition type.'),
    }),
  },
  enums: {
    FinalizerName: ['orch'],
    NamespaceConditionType: ['NamespaceContentRemaining', 'NamespaceDeletionContentFailure', 'NamespaceDeletionDiscoveryFailure', 'NamespaceDeletionGroupVersionParsingFailure', 'NamespaceFinalizersRemaining'],
    NamespacePhase: ['Active', 'Terminating'],
  },
  resources: [
    {
      resource: 'namespaces',
      kind: 'Namespace',
      namespaced: false,
      verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['ns'],
      subresources: [{ name: 'finalize', verbs: ['update'] }, 'status'],
      columns: ['Name', 'Status', 'Age'],
    },
  ],
});
