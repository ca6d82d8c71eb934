import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ValidatingWebhook: {
      name: { number: 1, type: 'string' },
      clientConfig: { number: 2, type: 'WebhookClientConfig' },
      rules: { number: 3, type: 'RuleWithOperations', repeated: true, omitempty: true, optional: true },
      failurePolicy: {
        number: 4,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        enum: 'FailurePolicyType',
      },
      matchPolicy: {
        number: 9,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        enum: 'MatchPolicyType',
      },
      namespaceSelector: { number: 5, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
      objectSelector: { number: 10, type: 'meta.v1.LabelSelector', pointer: true, omitempty: true, optional: true },
      sideEffects: { number: 6, type: 'string', pointer: true, enum: 'SideEffectClass' },
      timeoutSeconds: { number: 7, type: 'int32', pointer: true, omitempty: true, optional: true },
      admissionReviewVersions: { number: 8, type: 'string', repeated: true },
    },
    ValidatingWebhookConfiguration: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      webhooks: {
        number: 2,
        type: 'ValidatingWebhook',
        repeated: true,
        omitempty: true,
        optional: true,
        protoName: 'Webhooks',
        patchStrategy: 'merge',
        patchMergeKey: 'name',
      },
    },
    ValidatingWebhookConfigurationList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'ValidatingWebhookConfiguration', repeated: true },
    },
  },
  resources: [
    {
      resource: 'validatingwebhookconfigurations',
      singular: 'validatingwebhookconfiguration',
      kind: 'ValidatingWebhookConfiguration',
      namespaced: false,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      categories: ['api-extensions'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Webhooks', type: 'integer' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
