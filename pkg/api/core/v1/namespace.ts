import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Namespace: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'NamespaceSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'NamespaceStatus', omitempty: true, optional: true },
    },
    NamespaceCondition: {
      type: { number: 1, type: 'string', enum: 'NamespaceConditionType' },
      status: { number: 2, type: 'string', enum: 'ConditionStatus' },
      lastTransitionTime: { number: 4, type: 'meta.v1.Time', omitempty: true, optional: true },
      reason: { number: 5, type: 'string', omitempty: true, optional: true },
      message: { number: 6, type: 'string', omitempty: true, optional: true },
    },
    NamespaceList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'Namespace', repeated: true },
    },
    NamespaceSpec: {
      finalizers: { number: 1, type: 'string', repeated: true, omitempty: true, optional: true, enum: 'FinalizerName' },
    },
    NamespaceStatus: {
      phase: { number: 1, type: 'string', omitempty: true, optional: true, enum: 'NamespacePhase' },
      conditions: {
        number: 2,
        type: 'NamespaceCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
      },
    },
  },
  enums: {
    FinalizerName: ['orch'],
    NamespaceConditionType: [
      'NamespaceContentRemaining',
      'NamespaceDeletionContentFailure',
      'NamespaceDeletionDiscoveryFailure',
      'NamespaceDeletionGroupVersionParsingFailure',
      'NamespaceFinalizersRemaining',
    ],
    NamespacePhase: ['Active', 'Terminating'],
  },
  resources: [
    {
      resource: 'namespaces',
      singular: 'namespace',
      kind: 'Namespace',
      namespaced: false,
      verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['ns'],
      subresources: [
        { name: 'finalize', kind: 'Namespace', verbs: ['update'] },
        { name: 'status', kind: 'Namespace', verbs: ['get', 'patch', 'update'] },
      ],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Status', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
