import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    IngressClass: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'IngressClassSpec', omitempty: true, optional: true },
    },
    IngressClassList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'IngressClass', repeated: true },
    },
    IngressClassParametersReference: {
      apiGroup: { number: 1, type: 'string', pointer: true, omitempty: true, optional: true, protoName: 'aPIGroup' },
      kind: { number: 2, type: 'string' },
      name: { number: 3, type: 'string' },
      scope: { number: 4, type: 'string', pointer: true, optional: true },
      namespace: { number: 5, type: 'string', pointer: true, omitempty: true, optional: true },
    },
    IngressClassSpec: {
      controller: { number: 1, type: 'string', omitempty: true, optional: true },
      parameters: {
        number: 2,
        type: 'IngressClassParametersReference',
        pointer: true,
        omitempty: true,
        optional: true,
      },
    },
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
