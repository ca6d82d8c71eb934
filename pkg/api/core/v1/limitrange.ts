import { defineTypes, message, object, optional, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    LimitRange: object('Limits and defaults of the resources of single objects in a namespace.', {
      spec: optional(2, 'LimitRangeSpec', 'What the object is meant to be.'),
    }),
    LimitRangeItem: message('Limits for one type of object, by resource name.', {
      type: required(1, 'string', { enum: 'LimitType' }, 'What is limited: `Pod` (sum of its containers), `Container` or `PersistentVolumeClaim`.'),
      max: optional(2, 'map<string, resource.Quantity>', 'Most that a limit or a request may be.'),
      min: optional(3, 'map<string, resource.Quantity>', 'Least that a limit or a request may be.'),
      default: optional(4, 'map<string, resource.Quantity>', 'Limit that containers without one are given. Not for `Pod`.'),
      defaultRequest: optional(5, 'map<string, resource.Quantity>', 'Request that containers without one are given. Not for `Pod`.'),
      maxLimitRequestRatio: optional(6, 'map<string, resource.Quantity>', 'Most that the limit may be as a multiple of the request; both must then be set.'),
    }),
    LimitRangeSpec: message('What a LimitRange enforces.', {
      limits: required(1, 'LimitRangeItem[]', 'Limits to enforce, each for one type of object.'),
    }),
  },
  enums: {
    LimitType: ['Container', 'PersistentVolumeClaim', 'Pod'],
  },
  resources: [
    {
      resource: 'limitranges',
      kind: 'LimitRange',
      shortNames: ['limits'],
      columns: ['Name', { name: 'Created At', type: 'date' }],
    },
  ],
});
