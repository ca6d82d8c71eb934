import { defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    IngressClass: object('A way to carry out Ingresses: a controller with its settings.', {
      spec: optional(2, 'IngressClassSpec', 'What the object is meant to be.'),
    }),
    IngressClassParametersReference: message('An object with further settings of an IngressClass.', {
      apiGroup: pointer(1, 'string', { protoName: 'aPIGroup' }, "Group of the object's kind. Default: the core group."),
      kind: required(2, 'string', 'Kind of the object.'),
      name: required(3, 'string', 'Name of the object.'),
      scope: pointer(4, 'string', { default: 'Cluster', omitempty: false }, '`Cluster` or `Namespace`.'),
      namespace: pointer(5, 'string', 'Namespace of the object. Required for, and only for, the scope `Namespace`.'),
    }),
    IngressClassSpec: message('Who carries out Ingresses of a class.', {
      controller: optional(1, 'string', { immutable: true }, 'Name of the controller, with a domain prefix. Cannot be changed.'),
      parameters: pointer(2, 'IngressClassParametersReference', 'An object with further settings.'),
    }),
  },
  resources: [
    {
      resource: 'ingressclasses',
      kind: 'IngressClass',
      namespaced: false,
      columns: ['Name', 'Controller', 'Parameters', 'Age'],
    },
  ],
});
