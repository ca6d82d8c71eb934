import { defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ValidatingWebhook: message('A webhook that may refuse requests.', {
      name: required(1, 'string', 'Name of the webhook as a full domain name, such as `check.example.com`; unique in the configuration.'),
      clientConfig: required(2, 'WebhookClientConfig', 'How to reach the webhook.'),
      rules: optional(3, 'RuleWithOperations[]', 'Requests that the webhook is asked about; one match is enough. Requests about webhook configurations never match.'),
      failurePolicy: pointer(4, 'string', { enum: 'FailurePolicyType' }, 'What happens when the webhook cannot be asked: `Fail` refuses the request, `Ignore` lets it go on. Default `Fail`.'),
      matchPolicy: pointer(9, 'string', { enum: 'MatchPolicyType' }, '`Equivalent` also matches requests in other groups or versions of the same resource, `Exact` does not. Default `Equivalent`.'),
      namespaceSelector: pointer(5, 'meta.v1.LabelSelector', 'Labels of the namespaces of matching objects. Objects outside namespaces always match. Default: all.'),
      objectSelector: pointer(10, 'meta.v1.LabelSelector', 'Labels of matching objects, before or after the change. Default: all. Users can dodge it by setting labels.'),
      sideEffects: required(6, 'string', { enum: 'SideEffectClass', pointer: true }, '`None`, or `NoneOnDryRun` for webhooks that have effects elsewhere and heed dry runs. Required.'),
      timeoutSeconds: pointer(7, 'int32', 'Seconds to wait for an answer, 1 to 30. Default 10.'),
      admissionReviewVersions: required(8, 'string[]', 'Versions of the review that the webhook understands, the preferred one first. Required.'),
    }),
    ValidatingWebhookConfiguration: object('Webhooks that may refuse requests.', {
      webhooks: optional(2, 'ValidatingWebhook[]', { protoName: 'Webhooks', patchMergeKey: 'name' }, 'The webhooks.'),
    }),
  },
  resources: [
    {
      resource: 'validatingwebhookconfigurations',
      kind: 'ValidatingWebhookConfiguration',
      namespaced: false,
      categories: ['api-extensions'],
      columns: ['Name', { name: 'Webhooks', type: 'integer' }, 'Age'],
    },
  ],
});
