import { defineTypes, message, object, optional, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ComponentCondition: message('Health of a component of the control plane.', {
      type: required(1, 'string', { enum: 'ComponentConditionType' }, 'Aspect that the condition describes.'),
      status: required(2, 'string', { enum: 'ConditionStatus' }, 'Whether the condition holds: `True`, `False` or `Unknown`.'),
      message: optional(3, 'string', 'Result of the check, for people.'),
      error: optional(4, 'string', 'Error that the check ended with, if any.'),
    }),
    ComponentStatus: object('Health of one component of the control plane. Deprecated; use the health endpoints of the components.', {
      conditions: optional(2, 'ComponentCondition[]', { patchMergeKey: 'type' }, 'Results of the checks.'),
    }),
  },
  enums: {
    ComponentConditionType: ['Healthy'],
  },
  resources: [
    {
      resource: 'componentstatuses',
      kind: 'ComponentStatus',
      namespaced: false,
      verbs: ['get', 'list'],
      shortNames: ['cs'],
      deprecation: { since: '1.19' },
      columns: ['Name', 'Status', 'Message', 'Error'],
    },
  ],
});
