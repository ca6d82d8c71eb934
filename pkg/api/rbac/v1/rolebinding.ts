import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    RoleBinding: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      subjects: {
        number: 2,
        type: 'Subject',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Who is given the permissions.',
      },
      roleRef: { number: 3, type: 'RoleRef', doc: 'A Role of the namespace, or a ClusterRole. Cannot be changed.' },
    },
    RoleBindingList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'RoleBinding', repeated: true, doc: 'The objects of the list.' },
    },
  },
  docs: {
    RoleBinding: 'Gives the permissions of a Role or ClusterRole within a namespace.',
    RoleBindingList: 'A list of RoleBinding objects.',
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
