import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ComponentCondition: {
      type: { number: 1, type: 'string', enum: 'ComponentConditionType' },
      status: { number: 2, type: 'string', enum: 'ConditionStatus' },
      message: { number: 3, type: 'string', omitempty: true, optional: true },
      error: { number: 4, type: 'string', omitempty: true, optional: true },
    },
    ComponentStatus: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      conditions: {
        number: 2,
        type: 'ComponentCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
      },
    },
    ComponentStatusList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'ComponentStatus', repeated: true },
    },
  },
  enums: {
    ComponentConditionType: ['Healthy'],
  },
  resources: [
    {
      resource: 'componentstatuses',
      singular: 'componentstatus',
      kind: 'ComponentStatus',
      namespaced: false,
      verbs: ['get', 'list'],
      shortNames: ['cs'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Status', type: 'string' },
        { name: 'Message', type: 'string' },
        { name: 'Error', type: 'string' },
      ],
    },
  ],
};
