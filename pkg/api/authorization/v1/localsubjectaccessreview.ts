import { defineTypes, object, optional, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    LocalSubjectAccessReview: object("Asks whether a user may perform an action in the object's namespace.", {
      spec: required(2, 'SubjectAccessReviewSpec', 'Who wants to do what. The namespaces must agree.'),
      status: optional(3, 'SubjectAccessReviewStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
  },
  resources: [
    {
      resource: 'localsubjectaccessreviews',
      kind: 'LocalSubjectAccessReview',
      verbs: ['create'],
    },
  ],
});
