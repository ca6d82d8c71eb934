import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    SelfSubjectAccessReview: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'SelfSubjectAccessReviewSpec' },
      status: { number: 3, type: 'SubjectAccessReviewStatus', omitempty: true, optional: true },
    },
    SelfSubjectAccessReviewSpec: {
      resourceAttributes: { number: 1, type: 'ResourceAttributes', pointer: true, omitempty: true, optional: true },
      nonResourceAttributes: {
        number: 2,
        type: 'NonResourceAttributes',
        pointer: true,
        omitempty: true,
        optional: true,
      },
    },
  },
  resources: [
    {
      resource: 'selfsubjectaccessreviews',
      singular: 'selfsubjectaccessreview',
      kind: 'SelfSubjectAccessReview',
      namespaced: false,
      verbs: ['create'],
    },
  ],
};
