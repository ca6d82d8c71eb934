import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Binding: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      target: { number: 2, type: 'ObjectReference' },
    },
  },
  resources: [{ resource: 'bindings', singular: 'binding', kind: 'Binding', namespaced: true, verbs: ['create'] }],
};
