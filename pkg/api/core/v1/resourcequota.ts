import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ResourceQuota: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'ResourceQuotaSpec', omitempty: true, optional: true },
      status: { number: 3, type: 'ResourceQuotaStatus', omitempty: true, optional: true },
    },
    ResourceQuotaList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'ResourceQuota', repeated: true },
    },
    ResourceQuotaSpec: {
      hard: { number: 1, type: 'resource.Quantity', map: 'string', omitempty: true, optional: true },
      scopes: {
        number: 2,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        enum: 'ResourceQuotaScope',
      },
      scopeSelector: { number: 3, type: 'ScopeSelector', pointer: true, omitempty: true, optional: true },
    },
    ResourceQuotaStatus: {
      hard: { number: 1, type: 'resource.Quantity', map: 'string', omitempty: true, optional: true },
      used: { number: 2, type: 'resource.Quantity', map: 'string', omitempty: true, optional: true },
    },
  },
  resources: [
    {
      resource: 'resourcequotas',
      singular: 'resourcequota',
      kind: 'ResourceQuota',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['quota'],
      subresources: [{ name: 'status', kind: 'ResourceQuota', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Age', type: 'string' },
        { name: 'Request', type: 'string' },
        { name: 'Limit', type: 'string' },
      ],
    },
  ],
};
