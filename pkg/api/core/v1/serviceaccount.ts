import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ServiceAccount: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      secrets: {
        number: 2,
        type: 'ObjectReference',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'name',
        doc: 'Secrets that pods of this account may use. Enforced only where an annotation asks for it; not how tokens are made.',
      },
      imagePullSecrets: {
        number: 3,
        type: 'LocalObjectReference',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Secrets with credentials of registries, added to pods of this account that name none of their own.',
      },
      automountServiceAccountToken: {
        number: 4,
        type: 'bool',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: "Whether pods of this account get a token mounted. The pod's own setting wins. Default true.",
      },
    },
    ServiceAccountList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'ServiceAccount', repeated: true, doc: 'The objects of the list.' },
    },
  },
  docs: {
    ServiceAccount: 'An identity that processes in pods act under.',
    ServiceAccountList: 'A list of ServiceAccount objects.',
  },
  resources: [
    {
      resource: 'serviceaccounts',
      singular: 'serviceaccount',
      kind: 'ServiceAccount',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['sa'],
      subresources: [
        { name: 'token', kind: 'TokenRequest', group: 'authentication', version: 'v1', verbs: ['create'] },
      ],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Secrets', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
