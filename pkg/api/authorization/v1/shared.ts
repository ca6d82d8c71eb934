import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ExtraValue: {
      items: { number: 1, type: 'string', repeated: true, jsonWrapper: true },
    },
    NonResourceAttributes: {
      path: { number: 1, type: 'string', omitempty: true, optional: true },
      verb: { number: 2, type: 'string', omitempty: true, optional: true },
    },
    ResourceAttributes: {
      namespace: { number: 1, type: 'string', omitempty: true, optional: true },
      verb: { number: 2, type: 'string', omitempty: true, optional: true },
      group: { number: 3, type: 'string', omitempty: true, optional: true },
      version: { number: 4, type: 'string', omitempty: true, optional: true },
      resource: { number: 5, type: 'string', omitempty: true, optional: true },
      subresource: { number: 6, type: 'string', omitempty: true, optional: true },
      name: { number: 7, type: 'string', omitempty: true, optional: true },
    },
    SubjectAccessReviewSpec: {
      resourceAttributes: { number: 1, type: 'ResourceAttributes', pointer: true, omitempty: true, optional: true },
      nonResourceAttributes: {
        number: 2,
        type: 'NonResourceAttributes',
        pointer: true,
        omitempty: true,
        optional: true,
      },
      user: { number: 3, type: 'string', omitempty: true, optional: true },
      groups: { number: 4, type: 'string', repeated: true, omitempty: true, optional: true },
      extra: { number: 5, type: 'ExtraValue', map: 'string', omitempty: true, optional: true },
      uid: { number: 6, type: 'string', omitempty: true, optional: true },
    },
    SubjectAccessReviewStatus: {
      allowed: { number: 1, type: 'bool' },
      denied: { number: 4, type: 'bool', omitempty: true, optional: true },
      reason: { number: 2, type: 'string', omitempty: true, optional: true },
      evaluationError: { number: 3, type: 'string', omitempty: true, optional: true },
    },
  },
};
