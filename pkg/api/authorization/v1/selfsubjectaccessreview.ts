import { defineTypes, object, optional, pointer, required, union } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    SelfSubjectAccessReview: object('Asks whether the asking user may do something.', {
      spec: required(2, 'SelfSubjectAccessReviewSpec', 'What the user wants to do.'),
      status: optional(3, 'SubjectAccessReviewStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    SelfSubjectAccessReviewSpec: union('What the asking user wants to do.', {
      resourceAttributes: pointer(1, 'ResourceAttributes', 'Access to a resource.'),
      nonResourceAttributes: pointer(2, 'NonResourceAttributes', 'Access to a path outside resources.'),
    }),
  },
  resources: [
    {
      resource: 'selfsubjectaccessreviews',
      kind: 'SelfSubjectAccessReview',
      namespaced: false,
      verbs: ['create'],
    },
  ],
});
