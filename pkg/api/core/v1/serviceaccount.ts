import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ServiceAccount: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      secrets: {
        number: 2,
        type: 'ObjectReference',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'name',
      },
      imagePullSecrets: { number: 3, type: 'LocalObjectReference', repeated: true, omitempty: true, optional: true },
      automountServiceAccountToken: { number: 4, type: 'bool', pointer: true, omitempty: true, optional: true },
    },
    ServiceAccountList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'ServiceAccount', repeated: true },
    },
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
