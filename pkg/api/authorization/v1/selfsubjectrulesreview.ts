import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    NonResourceRule: {
      verbs: { number: 1, type: 'string', repeated: true },
      nonResourceURLs: { number: 2, type: 'string', repeated: true, omitempty: true, optional: true },
    },
    ResourceRule: {
      verbs: { number: 1, type: 'string', repeated: true },
      apiGroups: { number: 2, type: 'string', repeated: true, omitempty: true, optional: true },
      resources: { number: 3, type: 'string', repeated: true, omitempty: true, optional: true },
      resourceNames: { number: 4, type: 'string', repeated: true, omitempty: true, optional: true },
    },
    SelfSubjectRulesReview: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'SelfSubjectRulesReviewSpec' },
      status: { number: 3, type: 'SubjectRulesReviewStatus', omitempty: true, optional: true },
    },
    SelfSubjectRulesReviewSpec: {
      namespace: { number: 1, type: 'string', omitempty: true, optional: true },
    },
    SubjectRulesReviewStatus: {
      resourceRules: { number: 1, type: 'ResourceRule', repeated: true },
      nonResourceRules: { number: 2, type: 'NonResourceRule', repeated: true },
      incomplete: { number: 3, type: 'bool' },
      evaluationError: { number: 4, type: 'string', omitempty: true, optional: true },
    },
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
