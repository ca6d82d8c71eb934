import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    LimitRange: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: {
        number: 2,
        type: 'LimitRangeSpec',
        omitempty: true,
        optional: true,
        doc: 'What the object is meant to be.',
      },
    },
    LimitRangeItem: {
      type: {
        number: 1,
        type: 'string',
        enum: 'LimitType',
        doc: 'What is limited: `Pod` (sum of its containers), `Container` or `PersistentVolumeClaim`.',
      },
      max: {
        number: 2,
        type: 'resource.Quantity',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Most that a limit or a request may be.',
      },
      min: {
        number: 3,
        type: 'resource.Quantity',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Least that a limit or a request may be.',
      },
      default: {
        number: 4,
        type: 'resource.Quantity',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Limit that containers without one are given. Not for `Pod`.',
      },
      defaultRequest: {
        number: 5,
        type: 'resource.Quantity',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Request that containers without one are given. Not for `Pod`.',
      },
      maxLimitRequestRatio: {
        number: 6,
        type: 'resource.Quantity',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Most that the limit may be as a multiple of the request; both must then be set.',
      },
    },
    LimitRangeList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'LimitRange', repeated: true, doc: 'The objects of the list.' },
    },
    LimitRangeSpec: {
      limits: {
        number: 1,
        type: 'LimitRangeItem',
        repeated: true,
        doc: 'Limits to enforce, each for one type of object.',
      },
    },
  },
  docs: {
    LimitRange: 'Limits and defaults of the resources of single objects in a namespace.',
    LimitRangeItem: 'Limits for one type of object, by resource name.',
    LimitRangeList: 'A list of LimitRange objects.',
    LimitRangeSpec: 'What a LimitRange enforces.',
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
