import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Rule: {
      apiGroups: { number: 1, type: 'string', repeated: true, omitempty: true, optional: true },
      apiVersions: { number: 2, type: 'string', repeated: true, omitempty: true, optional: true },
      resources: { number: 3, type: 'string', repeated: true, omitempty: true, optional: true },
      scope: { number: 4, type: 'string', pointer: true, omitempty: true, optional: true, enum: 'ScopeType' },
    },
    RuleWithOperations: {
      operations: { number: 1, type: 'string', repeated: true, omitempty: true, optional: true, enum: 'OperationType' },
      '~rule': { number: 2, type: 'Rule', inline: true, protoName: 'rule' },
    },
    ServiceReference: {
      namespace: { number: 1, type: 'string' },
      name: { number: 2, type: 'string' },
      path: { number: 3, type: 'string', pointer: true, omitempty: true, optional: true },
      port: { number: 4, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
    WebhookClientConfig: {
      url: { number: 3, type: 'string', pointer: true, omitempty: true, optional: true },
      service: { number: 1, type: 'ServiceReference', pointer: true, omitempty: true, optional: true },
      caBundle: { number: 2, type: 'bytes', omitempty: true, optional: true },
    },
  },
  enums: {
    OperationType: ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'],
    ScopeType: ['*', 'Cluster', 'Namespaced'],
  },
};
