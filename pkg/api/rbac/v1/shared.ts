import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    PolicyRule: {
      verbs: { number: 1, type: 'string', repeated: true },
      apiGroups: { number: 2, type: 'string', repeated: true, omitempty: true, optional: true },
      resources: { number: 3, type: 'string', repeated: true, omitempty: true, optional: true },
      resourceNames: { number: 4, type: 'string', repeated: true, omitempty: true, optional: true },
      nonResourceURLs: { number: 5, type: 'string', repeated: true, omitempty: true, optional: true },
    },
    RoleRef: {
      apiGroup: { number: 1, type: 'string' },
      kind: { number: 2, type: 'string' },
      name: { number: 3, type: 'string' },
    },
    Subject: {
      kind: { number: 1, type: 'string' },
      apiGroup: { number: 2, type: 'string', omitempty: true, optional: true },
      name: { number: 3, type: 'string' },
      namespace: { number: 4, type: 'string', omitempty: true, optional: true },
    },
  },
};
