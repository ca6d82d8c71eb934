import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Namespace: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: {
        number: 2,
        type: 'NamespaceSpec',
        omitempty: true,
        optional: true,
        doc: 'What the object is meant to be.',
      },
      status: {
        number: 3,
        type: 'NamespaceStatus',
        omitempty: true,
        optional: true,
        doc: 'What was last observed of the object. Written by the system, never by users.',
      },
    },
    NamespaceCondition: {
      type: { number: 1, type: 'string', enum: 'NamespaceConditionType', doc: 'Aspect that the condition describes.' },
      status: {
        number: 2,
        type: 'string',
        enum: 'ConditionStatus',
        doc: 'Whether the condition holds: `True`, `False` or `Unknown`.',
      },
      lastTransitionTime: {
        number: 4,
        type: 'meta.v1.Time',
        omitempty: true,
        optional: true,
        doc: 'When the status last changed.',
      },
      reason: {
        number: 5,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'One CamelCase word on why the status last changed, for programs.',
      },
      message: {
        number: 6,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Details of the last change of the status, for people.',
      },
    },
    NamespaceList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'Namespace', repeated: true, doc: 'The objects of the list.' },
    },
    NamespaceSpec: {
      finalizers: {
        number: 1,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        enum: 'FinalizerName',
        doc: 'Who must still clean up before the namespace can go. Changed through the `finalize` subresource only.',
      },
    },
    NamespaceStatus: {
      phase: {
        number: 1,
        type: 'string',
        omitempty: true,
        optional: true,
        enum: 'NamespacePhase',
        doc: '`Active`, or `Terminating` once it is being deleted.',
      },
      conditions: {
        number: 2,
        type: 'NamespaceCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
        doc: 'Latest observations of single aspects of the state, one per condition type.',
      },
    },
  },
  docs: {
    Namespace:
      'A scope for names: objects of different namespaces may be called the same. Policies and quotas are set per namespace.',
    NamespaceCondition: "One aspect of a namespace's state, mostly of its deletion.",
    NamespaceList: 'A list of Namespace objects.',
    NamespaceSpec: 'What a namespace is meant to be.',
    NamespaceStatus: 'What was last observed of a namespace.',
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
