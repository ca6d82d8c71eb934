import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    PriorityClass: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      value: { number: 2, type: 'int32' },
      globalDefault: { number: 3, type: 'bool', omitempty: true, optional: true },
      description: { number: 4, type: 'string', omitempty: true, optional: true },
      preemptionPolicy: { number: 5, type: 'string', pointer: true, omitempty: true, optional: true },
    },
    PriorityClassList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'PriorityClass', repeated: true },
    },
  },
  resources: [
    {
      resource: 'priorityclasses',
      singular: 'priorityclass',
      kind: 'PriorityClass',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['pc'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Value', type: 'integer' },
        { name: 'Global-Default', type: 'boolean' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
