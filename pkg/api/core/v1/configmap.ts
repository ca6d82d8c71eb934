import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ConfigMap: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      immutable: { number: 4, type: 'bool', pointer: true, omitempty: true, optional: true },
      data: { number: 2, type: 'string', map: 'string', omitempty: true, optional: true },
      binaryData: { number: 3, type: 'bytes', map: 'string', omitempty: true, optional: true },
    },
    ConfigMapList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'ConfigMap', repeated: true },
    },
  },
  resources: [
    {
      resource: 'configmaps',
      singular: 'configmap',
      kind: 'ConfigMap',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['cm'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Data', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
