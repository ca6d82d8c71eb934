import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Binding: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name and namespace of the pod to place. Labels and annotations are copied to the pod.',
      },
      target: { number: 2, type: 'ObjectReference', doc: 'The node that the pod shall run on.' },
    },
  },
  docs: {
    Binding: "Places a pod on a node. Posted to the pod's `binding` subresource, normally by a scheduler.",
  },
  resources: [{ resource: 'bindings', singular: 'binding', kind: 'Binding', namespaced: true, verbs: ['create'] }],
};
