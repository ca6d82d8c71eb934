import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ClusterRoleBinding: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      subjects: { number: 2, type: 'Subject', repeated: true, omitempty: true, optional: true },
      roleRef: { number: 3, type: 'RoleRef' },
    },
    ClusterRoleBindingList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'ClusterRoleBinding', repeated: true },
    },
  },
  resources: [
    {
      resource: 'clusterrolebindings',
      singular: 'clusterrolebinding',
      kind: 'ClusterRoleBinding',
      namespaced: false,
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
