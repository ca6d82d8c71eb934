import { defineTypes, message, object, optional, pointer } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    AggregationRule: message('Roles to collect rules from.', {
      clusterRoleSelectors: optional(1, 'meta.v1.LabelSelector[]', 'Labels of ClusterRoles; the rules of all that match one of them are collected.'),
    }),
    ClusterRole: object('A set of permissions, for the whole cluster or for use in any namespace.', {
      rules: optional(2, 'PolicyRule[]', { omitempty: false }, 'The permissions. Overwritten where there is an aggregation rule.'),
      aggregationRule: pointer(3, 'AggregationRule', 'Collects the rules of other ClusterRoles.'),
    }),
  },
  resources: [
    {
      resource: 'clusterroles',
      kind: 'ClusterRole',
      namespaced: false,
      columns: ['Name', { name: 'Created At', type: 'date' }],
    },
  ],
});
