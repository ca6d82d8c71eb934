import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    IngressClass: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: {
        number: 2,
        type: 'IngressClassSpec',
        omitempty: true,
        optional: true,
        doc: 'What the object is meant to be.',
      },
    },
    IngressClassList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'IngressClass', repeated: true, doc: 'The objects of the list.' },
    },
    IngressClassParametersReference: {
      apiGroup: {
        number: 1,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        protoName: 'aPIGroup',
        doc: "Group of the object's kind. Default: the core group.",
      },
      kind: { number: 2, type: 'string', doc: 'Kind of the object.' },
      name: { number: 3, type: 'string', doc: 'Name of the object.' },
      scope: {
        number: 4,
        type: 'string',
        pointer: true,
        optional: true,
        doc: '`Cluster` or `Namespace`. Default `Cluster`.',
      },
      namespace: {
        number: 5,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Namespace of the object. Required for, and only for, the scope `Namespace`.',
      },
    },
    IngressClassSpec: {
      controller: {
        number: 1,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Name of the controller, with a domain prefix. Cannot be changed.',
      },
      parameters: {
        number: 2,
        type: 'IngressClassParametersReference',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'An object with further settings.',
      },
    },
  },
  docs: {
    IngressClass: 'A way to carry out Ingresses: a controller with its settings.',
    IngressClassList: 'A list of IngressClass objects.',
    IngressClassParametersReference: 'An object with further settings of an IngressClass.',
    IngressClassSpec: 'Who carries out Ingresses of a class.',
  },
  resources: [
    {
      resource: 'ingressclasses',
      singular: 'ingressclass',
      kind: 'IngressClass',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Controller', type: 'string' },
        { name: 'Parameters', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
