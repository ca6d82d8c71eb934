import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Rule: {
      apiGroups: {
        number: 1,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Groups; `*` is all.',
      },
      apiVersions: {
        number: 2,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Versions; `*` is all.',
      },
      resources: {
        number: 3,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        doc: 'Resources, as `resource` or `resource/subresource`; `*` is all without subresources, `*/*` all with them.',
      },
      scope: {
        number: 4,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        enum: 'ScopeType',
        doc: '`Cluster`, `Namespaced` or `*`. Default `*`.',
      },
    },
    RuleWithOperations: {
      operations: {
        number: 1,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        enum: 'OperationType',
        doc: '`CREATE`, `UPDATE`, `DELETE`, `CONNECT` or `*`.',
      },
      '~rule': { number: 2, type: 'Rule', inline: true, protoName: 'rule' },
    },
    ServiceReference: {
      namespace: { number: 1, type: 'string', doc: 'Namespace of the service.' },
      name: { number: 2, type: 'string', doc: 'Name of the service.' },
      path: {
        number: 3,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Path of the URL. Default: none.',
      },
      port: {
        number: 4,
        type: 'int32',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Port of the service. Default 443.',
      },
    },
    WebhookClientConfig: {
      url: {
        number: 3,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'URL of the webhook; `https`, without user, query and fragment.',
      },
      service: {
        number: 1,
        type: 'ServiceReference',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'A service of the cluster.',
      },
      caBundle: {
        number: 2,
        type: 'bytes',
        omitempty: true,
        optional: true,
        doc: "Certificates in PEM, in base64, that the webhook's own is verified with. Default: those of the API server's system.",
      },
    },
  },
  docs: {
    Rule: 'Which resources are matched.',
    RuleWithOperations: 'Which operations on which resources are matched.',
    ServiceReference: 'A service that a webhook is reached at.',
    WebhookClientConfig: 'How to reach a webhook. Either a URL or a service.',
  },
  enums: {
    OperationType: ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'],
    ScopeType: ['*', 'Cluster', 'Namespaced'],
  },
};
