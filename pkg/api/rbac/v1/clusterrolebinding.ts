import { defineTypes, object, optional, required, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ClusterRoleBinding: object('Gives the permissions of a ClusterRole in the whole cluster.', {
      subjects: optional(2, 'Subject[]', 'Who is given the permissions.'),
      roleRef: required(3, 'RoleRef', 'The ClusterRole. Cannot be changed.'),
    }),
  },
  resources: [
    {
      resource: 'clusterrolebindings',
      kind: 'ClusterRoleBinding',
      namespaced: false,
      columns: ['Name', 'Role', 'Age', ...wide('Users', 'Groups', 'ServiceAccounts')],
    },
  ],
});
