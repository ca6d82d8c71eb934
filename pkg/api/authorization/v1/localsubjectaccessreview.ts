import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    LocalSubjectAccessReview: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'SubjectAccessReviewSpec' },
      status: { number: 3, type: 'SubjectAccessReviewStatus', omitempty: true, optional: true },
    },
  },
  resources: [
    {
      resource: 'localsubjectaccessreviews',
      singular: 'localsubjectaccessreview',
      kind: 'LocalSubjectAccessReview',
      namespaced: true,
      verbs: ['create'],
    },
  ],
};
