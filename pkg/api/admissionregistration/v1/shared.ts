import { defineTypes, inlined, message, optional, partialUnion, pointer, required } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Rule: message('Which resources are matched.', {
      apiGroups: optional(1, 'string[]', 'Groups; `*` is all.'),
      apiVersions: optional(2, 'string[]', 'Versions; `*` is all.'),
      resources: optional(3, 'string[]', 'Resources, as `resource` or `resource/subresource`; `*` is all without subresources, `*/*` all with them.'),
      scope: pointer(4, 'string', { default: '*', enum: 'ScopeType' }, '`Cluster`, `Namespaced` or `*`.'),
    }),
    RuleWithOperations: message('Which operations on which resources are matched.', {
      operations: optional(1, 'string[]', { enum: 'OperationType' }, '`CREATE`, `UPDATE`, `DELETE`, `CONNECT` or `*`.'),
      '~rule': inlined(2, 'Rule'),
    }),
    ServiceReference: message('A service that a webhook is reached at.', {
      namespace: required(1, 'string', 'Namespace of the service.'),
      name: required(2, 'string', 'Name of the service.'),
      path: pointer(3, 'string', 'Path of the URL. Default: none.'),
      port: pointer(4, 'int32', { minimum: 1, maximum: 65535, default: 443 }, 'Port of the service.'),
    }),
    WebhookClientConfig: partialUnion('How to reach a webhook.', ['url', 'service'], {
      service: pointer(1, 'ServiceReference', 'A service of the cluster.'),
      caBundle: optional(2, 'bytes', { keepsEmpty: true }, "Certificates in PEM, in base64, that the webhook's own is verified with. Default: those of the API server's system."),
      url: pointer(3, 'string', 'URL of the webhook; `https`, without user, query and fragment.'),
    }),
  },
  enums: {
    OperationType: ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'],
    ScopeType: ['*', 'Cluster', 'Namespaced'],
  },
});
