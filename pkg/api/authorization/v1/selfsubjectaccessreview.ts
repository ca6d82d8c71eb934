import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    SelfSubjectAccessReview: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: { number: 2, type: 'SelfSubjectAccessReviewSpec', doc: 'What the user wants to do.' },
      status: {
        number: 3,
        type: 'SubjectAccessReviewStatus',
        omitempty: true,
        optional: true,
        doc: 'What was last observed of the object. Written by the system, never by users.',
      },
    },
    SelfSubjectAccessReviewSpec: {
      resourceAttributes: {
        number: 1,
        type: 'ResourceAttributes',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Access to a resource.',
      },
      nonResourceAttributes: {
        number: 2,
        type: 'NonResourceAttributes',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Access to a path outside resources.',
      },
    },
  },
  docs: {
    SelfSubjectAccessReview: 'Asks whether the asking user may do something.',
    SelfSubjectAccessReviewSpec: 'What the asking user wants to do. Exactly one member is set.',
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
