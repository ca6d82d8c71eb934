import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    RoleBinding: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      subjects: { number: 2, type: 'Subject', repeated: true, omitempty: true, optional: true },
      roleRef: { number: 3, type: 'RoleRef' },
    },
    RoleBindingList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'RoleBinding', repeated: true },
    },
  },
  resources: [
    {
      resource: 'rolebindings',
      singular: 'rolebinding',
      kind: 'RoleBinding',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Role', type: 'string' },
        { name: 'Age', type: 'string' },
        { name: 'Users', type: 'string', priority: 1 },
        { name: 'Groups', type: 'string', priority: 1 },
        { name: 'ServiceAccounts', type: 'string', priority: 1 },
      ],
    },
  ],
};
