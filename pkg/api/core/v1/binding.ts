import { bareKind, defineTypes, optional, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Binding: bareKind("Places a pod on a node. Posted to the pod's `binding` subresource, normally by a scheduler.", {
      metadata: optional(1, 'meta.v1.ObjectMeta', 'Name and namespace of the pod to place. Labels and annotations are copied to the pod.'),
      target: required(2, 'ObjectReference', 'The node that the pod shall run on.'),
    }),
  },
  resources: [
    {
      resource: 'bindings',
      kind: 'Binding',
      verbs: ['create'],
    },
  ],
});
