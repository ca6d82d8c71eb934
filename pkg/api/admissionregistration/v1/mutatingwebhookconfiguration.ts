import { defineTypes, message, object, optional, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    MutatingWebhook: message('A webhook that may change objects on their way in.', {
      name: required(1, 'string', 'Name of the webhook as a full domain name, such as `check.example.com`; unique in the configuration.'),
      clientConfig: required(2, 'WebhookClientConfig', 'How to reach the webhook.'),
      rules: optional(3, 'RuleWithOperations[]', 'Requests that the webhook is asked about; one match is enough. Requests about webhook configurations never match.'),
      failurePolicy: pointer(4, 'string', { default: 'Fail', enum: 'FailurePolicyType' }, 'What happens when the webhook cannot be asked: `Fail` refuses the request, `Ignore` lets it go on.'),
      matchPolicy: pointer(9, 'string', { default: 'Equivalent', enum: 'MatchPolicyType' }, '`Equivalent` also matches requests in other groups or versions of the same resource, `Exact` does not.'),
      namespaceSelector: pointer(5, 'meta.v1.LabelSelector', { default: {} }, 'Labels of the namespaces of matching objects. Objects outside namespaces always match. Default: all.'),
      objectSelector: pointer(11, 'meta.v1.LabelSelector', { default: {} }, 'Labels of matching objects, before or after the change. Default: all. Users can dodge it by setting labels.'),
      sideEffects: required(6, 'string', { enum: 'SideEffectClass', pointer: true }, '`None`, or `NoneOnDryRun` for webhooks that have effects elsewhere and heed dry runs. Required.'),
      timeoutSeconds: pointer(7, 'int32', { minimum: 1, maximum: 30, default: 10 }, 'Seconds to wait for an answer.'),
      admissionReviewVersions: required(8, 'string[]', 'Versions of the review that the webhook understands, the preferred one first. Required.'),
      reinvocationPolicy: pointer(10, 'string', { default: 'Never', enum: 'ReinvocationPolicyType' }, '`IfNeeded` calls the webhook once more when later ones changed the object, `Never` does not.'),
    }),
    MutatingWebhookConfiguration: object('Webhooks that may change objects on their way in.', {
      webhooks: optional(2, 'MutatingWebhook[]', { protoName: 'Webhooks', patchMergeKey: 'name' }, 'The webhooks.'),
    }),
  },
  enums: {
    FailurePolicyType: ['Fail', 'Ignore'],
    MatchPolicyType: ['Equivalent', 'Exact'],
    ReinvocationPolicyType: ['IfNeeded', 'Never'],
    SideEffectClass: ['None', 'NoneOnDryRun', 'Some', 'Unknown'],
  },
  resources: [
    {
      resource: 'mutatingwebhookconfigurations',
      kind: 'MutatingWebhookConfiguration',
      namespaced: false,
      categories: ['api-extensions'],
      columns: ['Name', { name: 'Webhooks', type: 'integer' }, 'Age'],
    },
  ],
});
