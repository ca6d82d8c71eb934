import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    LimitRange: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'LimitRangeSpec', omitempty: true, optional: true },
    },
    LimitRangeItem: {
      type: { number: 1, type: 'string', enum: 'LimitType' },
      max: { number: 2, type: 'resource.Quantity', map: 'string', omitempty: true, optional: true },
      min: { number: 3, type: 'resource.Quantity', map: 'string', omitempty: true, optional: true },
      default: { number: 4, type: 'resource.Quantity', map: 'string', omitempty: true, optional: true },
      defaultRequest: { number: 5, type: 'resource.Quantity', map: 'string', omitempty: true, optional: true },
      maxLimitRequestRatio: { number: 6, type: 'resource.Quantity', map: 'string', omitempty: true, optional: true },
    },
    LimitRangeList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'LimitRange', repeated: true },
    },
    LimitRangeSpec: {
      limits: { number: 1, type: 'LimitRangeItem', repeated: true },
    },
  },
  enums: {
    LimitType: ['Container', 'PersistentVolumeClaim', 'Pod'],
  },
  resources: [
    {
      resource: 'limitranges',
      singular: 'limitrange',
      kind: 'LimitRange',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['limits'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Created At', type: 'date' },
      ],
    },
  ],
};
