import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Role: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      rules: { number: 2, type: 'PolicyRule', repeated: true, optional: true, doc: 'The permissions.' },
    },
    RoleList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'Role', repeated: true, doc: 'The objects of the list.' },
    },
  },
  docs: {
    Role: 'A set of permissions within a namespace.',
    RoleList: 'A list of Role objects.',
  },
  resources: [
    {
      resource: 'roles',
      singular: 'role',
      kind: 'Role',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Created At', type: 'date' },
      ],
    },
  ],
};
