import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ComponentCondition: {
      type: { number: 1, type: 'string', enum: 'ComponentConditionType', doc: 'Aspect that the condition describes.' },
      status: {
        number: 2,
        type: 'string',
        enum: 'ConditionStatus',
        doc: 'Whether the condition holds: `True`, `False` or `Unknown`.',
      },
      message: { number: 3, type: 'string', omitempty: true, optional: true, doc: 'Result of the check, for people.' },
      error: {
        number: 4,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Error that the check ended with, if any.',
      },
    },
    ComponentStatus: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      conditions: {
        number: 2,
        type: 'ComponentCondition',
        repeated: true,
        omitempty: true,
        optional: true,
        patchStrategy: 'merge',
        patchMergeKey: 'type',
        doc: 'Results of the checks.',
      },
    },
    ComponentStatusList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'ComponentStatus', repeated: true, doc: 'The objects of the list.' },
    },
  },
  docs: {
    ComponentCondition: 'Health of a component of the control plane.',
    ComponentStatus:
      'Health of one component of the control plane. Deprecated; use the health endpoints of the components.',
    ComponentStatusList: 'A list of ComponentStatus objects.',
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
      deprecation: { since: '1.19' },
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Status', type: 'string' },
        { name: 'Message', type: 'string' },
        { name: 'Error', type: 'string' },
      ],
    },
  ],
};
