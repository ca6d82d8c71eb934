import { defineTypes, object, optional, required, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    RoleBinding: object('Gives the permissions of a Role or ClusterRole within a namespace.', {
      subjects: optional(2, 'Subject[]', 'Who is given the permissions.'),
      roleRef: required(3, 'RoleRef', 'A Role of the namespace, or a ClusterRole. Cannot be changed.'),
    }),
  },
  resources: [
    {
      resource: 'rolebindings',
      kind: 'RoleBinding',
      columns: ['Name', 'Role', 'Age', ...wide('Users', 'Groups', 'ServiceAccounts')],
    },
  ],
});
