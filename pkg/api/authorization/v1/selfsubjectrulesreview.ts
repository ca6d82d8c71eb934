import { defineTypes, message, object, optional, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    NonResourceRule: message('What may be done with some paths.', {
      verbs: required(1, 'string[]', 'What may be done; `*` is everything.'),
      nonResourceURLs: optional(2, 'string[]', 'The paths; `*` at the end is a wildcard.'),
    }),
    ResourceRule: message('What may be done with some resources.', {
      verbs: required(1, 'string[]', 'What may be done; `*` is everything.'),
      apiGroups: optional(2, 'string[]', 'Groups of the resources; `*` is all.'),
      resources: optional(3, 'string[]', 'The resources; `*` is all, `*/name` that subresource of all.'),
      resourceNames: optional(4, 'string[]', 'Names of single objects. Empty or `*`: all.'),
    }),
    SelfSubjectRulesReview: object('Asks for all that the asking user may do in a namespace. For display, not for decisions.', {
      spec: required(2, 'SelfSubjectRulesReviewSpec', 'Which namespace is asked about.'),
      status: optional(3, 'SubjectRulesReviewStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    SelfSubjectRulesReviewSpec: message('Which namespace is asked about.', {
      namespace: optional(1, 'string', 'The namespace. Required.'),
    }),
    SubjectRulesReviewStatus: message('What a user may do.', {
      resourceRules: required(1, 'ResourceRule[]', 'What the user may do with resources.'),
      nonResourceRules: required(2, 'NonResourceRule[]', 'What the user may do with paths outside resources.'),
      incomplete: required(3, 'bool', 'Whether there may be more, since not every authorizer can tell.'),
      evaluationError: optional(4, 'string', 'Why the answer is incomplete.'),
    }),
  },
  resources: [
    {
      resource: 'selfsubjectrulesreviews',
      kind: 'SelfSubjectRulesReview',
      namespaced: false,
      verbs: ['create'],
    },
  ],
});
