import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    AggregationRule: {
      clusterRoleSelectors: {
        number: 1,
        type: 'meta.v1.LabelSelector',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Labels of ClusterRoles; the rules of all that match one of them are collected.',
      },
    },
    ClusterRole: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      rules: {
        number: 2,
        type: 'PolicyRule',
        repeated: true,
        optional: true,
        doc: 'The permissions. Overwritten where there is an aggregation rule.',
      },
      aggregationRule: {
        number: 3,
        type: 'AggregationRule',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Collects the rules of other ClusterRoles.',
      },
    },
    ClusterRoleList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'ClusterRole', repeated: true, doc: 'The objects of the list.' },
    },
  },
  docs: {
    AggregationRule: 'Roles to collect rules from.',
    ClusterRole: 'A set of permissions, for the whole cluster or for use in any namespace.',
    ClusterRoleList: 'A list of ClusterRole objects.',
  },
  resources: [
    {
      resource: 'clusterroles',
      singular: 'clusterrole',
      kind: 'ClusterRole',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Created At', type: 'date' },
      ],
    },
  ],
};
