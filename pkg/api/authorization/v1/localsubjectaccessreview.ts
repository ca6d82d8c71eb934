import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    LocalSubjectAccessReview: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: { number: 2, type: 'SubjectAccessReviewSpec', doc: 'Who wants to do what. The namespaces must agree.' },
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
    LocalSubjectAccessReview: "Asks whether somebody may do something in the object's namespace.",
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
