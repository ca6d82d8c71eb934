import { defineTypes, object, optional, pointer } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ServiceAccount: object('An identity that processes in pods act under.', {
      secrets: optional(2, 'ObjectReference[]', { patchMergeKey: 'name' }, 'Secrets that pods of this account may use. Enforced only where an annotation asks for it; not how tokens are made.'),
      imagePullSecrets: optional(3, 'LocalObjectReference[]', 'Secrets with credentials of registries, added to pods of this account that name none of their own.'),
      automountServiceAccountToken: pointer(4, 'bool', "Whether pods of this account get a token mounted. The pod's own setting wins. Default true."),
    }),
  },
  resources: [
    {
      resource: 'serviceaccounts',
      kind: 'ServiceAccount',
      shortNames: ['sa'],
      subresources: [{ name: 'token', kind: 'TokenRequest', group: 'authentication', version: 'v1', verbs: ['create'] }],
      columns: ['Name', 'Secrets', 'Age'],
    },
  ],
});
