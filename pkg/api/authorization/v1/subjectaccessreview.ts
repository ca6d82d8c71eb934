import { defineTypes, object, optional, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    SubjectAccessReview: object('Asks whether a user may perform an action.', {
      spec: required(2, 'SubjectAccessReviewSpec', 'Who wants to do what.'),
      status: optional(3, 'SubjectAccessReviewStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
  },
  resources: [
    {
      resource: 'subjectaccessreviews',
      kind: 'SubjectAccessReview',
      namespaced: false,
      verbs: ['create'],
    },
  ],
});
