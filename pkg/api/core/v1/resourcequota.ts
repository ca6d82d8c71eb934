import { defineTypes, message, object, optional, pointer } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    ResourceQuota: object('Limits on what all objects of a namespace take together.', {
      spec: optional(2, 'ResourceQuotaSpec', 'What the object is meant to be.'),
      status: optional(3, 'ResourceQuotaStatus', 'What was last observed of the object. Written by the system, never by users.'),
    }),
    ResourceQuotaSpec: message('What a ResourceQuota enforces.', {
      hard: optional(1, 'map<string, resource.Quantity>', 'Most that may be used, by resource name: `requests.cpu`, `limits.memory`, `pods`, `count/<resource>.<group>` and others.'),
      scopes: optional(2, 'string[]', { enum: 'ResourceQuotaScope' }, 'Counts only objects that match every one of these scopes: `Terminating`, `NotTerminating`, `BestEffort`, `NotBestEffort`, `PriorityClass` or `CrossNamespacePodAffinity`. Default: all objects.'),
      scopeSelector: pointer(3, 'ScopeSelector', 'As `scopes`, with operators and values. Both must match where both are set.'),
    }),
    ResourceQuotaStatus: message('What a ResourceQuota enforces and what is used.', {
      hard: optional(1, 'map<string, resource.Quantity>', 'Limits that are enforced.'),
      used: optional(2, 'map<string, resource.Quantity>', 'What is in use.'),
    }),
  },
  resources: [
    {
      resource: 'resourcequotas',
      kind: 'ResourceQuota',
      shortNames: ['quota'],
      subresources: ['status'],
      columns: ['Name', 'Age', 'Request', 'Limit'],
    },
  ],
});
