import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    NonResourceRule: {
      verbs: { number: 1, type: 'string', repeated: true, doc: 'What may be done; `*` is everything.' },
      nonResourceURLs: {
        number: 2,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'The paths; `*` at the end is a wildcard.',
      },
    },
    ResourceRule: {
      verbs: { number: 1, type: 'string', repeated: true, doc: 'What may be done; `*` is everything.' },
      apiGroups: {
        number: 2,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Groups of the resources; `*` is all.',
      },
      resources: {
        number: 3,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'The resources; `*` is all, `*/name` that subresource of all.',
      },
      resourceNames: {
        number: 4,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Names of single objects. Empty or `*`: all.',
      },
    },
    SelfSubjectRulesReview: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: { number: 2, type: 'SelfSubjectRulesReviewSpec', doc: 'Which namespace is asked about.' },
      status: {
        number: 3,
        type: 'SubjectRulesReviewStatus',
        omitempty: true,
        optional: true,
        doc: 'What was last observed of the object. Written by the system, never by users.',
      },
    },
    SelfSubjectRulesReviewSpec: {
      namespace: { number: 1, type: 'string', omitempty: true, optional: true, doc: 'The namespace. Required.' },
    },
    SubjectRulesReviewStatus: {
      resourceRules: { number: 1, type: 'ResourceRule', repeated: true, doc: 'What the user may do with resources.' },
      nonResourceRules: {
        number: 2,
        type: 'NonResourceRule',
        repeated: true,
        doc: 'What the user may do with paths outside resources.',
      },
      incomplete: { number: 3, type: 'bool', doc: 'Whether there may be more, since not every authorizer can tell.' },
      evaluationError: {
        number: 4,
        type: 'string',
        omitempty: true,
        optional: true,
        doc: 'Why the answer is incomplete.',
      },
    },
  },
  docs: {
    NonResourceRule: 'What may be done with some paths.',
    ResourceRule: 'What may be done with some resources.',
    SelfSubjectRulesReview: 'Asks for all that the asking user may do in a namespace. For display, not for decisions.',
    SelfSubjectRulesReviewSpec: 'Which namespace is asked about.',
    SubjectRulesReviewStatus: 'What a user may do.',
  },
  resources: [
    {
      resource: 'selfsubjectrulesreviews',
      singular: 'selfsubjectrulesreview',
      kind: 'SelfSubjectRulesReview',
      namespaced: false,
      verbs: ['create'],
    },
  ],
};
