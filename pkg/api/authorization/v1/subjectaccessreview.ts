import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    SubjectAccessReview: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: { number: 2, type: 'SubjectAccessReviewSpec', doc: 'Who wants to do what.' },
      status: {
        number: 3,
        type: 'SubjectAccessReviewStatus',
        omitempty: true,
        optional: true,
        doc: 'What was last observed of the object. Written by the system, never by users.',
      },
    },
  },
  docs: {
    SubjectAccessReview: 'Asks whether somebody may do something.',
  },
  resources: [
    {
      resource: 'subjectaccessreviews',
      singular: 'subjectaccessreview',
      kind: 'SubjectAccessReview',
      namespaced: false,
      verbs: ['create'],
    },
  ],
};
