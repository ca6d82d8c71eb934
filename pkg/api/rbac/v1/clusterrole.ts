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
      },
    },
    ClusterRole: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      rules: { number: 2, type: 'PolicyRule', repeated: true, optional: true },
      aggregationRule: { number: 3, type: 'AggregationRule', pointer: true, omitempty: true, optional: true },
    },
    ClusterRoleList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'ClusterRole', repeated: true },
    },
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
