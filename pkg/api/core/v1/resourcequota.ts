import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    ResourceQuota: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: {
        number: 2,
        type: 'ResourceQuotaSpec',
        omitempty: true,
        optional: true,
        doc: 'What the object is meant to be.',
      },
      status: {
        number: 3,
        type: 'ResourceQuotaStatus',
        omitempty: true,
        optional: true,
        doc: 'What was last observed of the object. Written by the system, never by users.',
      },
    },
    ResourceQuotaList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'ResourceQuota', repeated: true, doc: 'The objects of the list.' },
    },
    ResourceQuotaSpec: {
      hard: {
        number: 1,
        type: 'resource.Quantity',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Most that may be used, by resource name: `requests.cpu`, `limits.memory`, `pods`, `count/<resource>.<group>` and others.',
      },
      scopes: {
        number: 2,
        type: 'string',
        repeated: true,
        omitempty: true,
        optional: true,
        enum: 'ResourceQuotaScope',
        doc: 'Counts only objects that match every one of these scopes: `Terminating`, `NotTerminating`, `BestEffort`, `NotBestEffort`, `PriorityClass` or `CrossNamespacePodAffinity`. Default: all objects.',
      },
      scopeSelector: {
        number: 3,
        type: 'ScopeSelector',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'As `scopes`, with operators and values. Both must match where both are set.',
      },
    },
    ResourceQuotaStatus: {
      hard: {
        number: 1,
        type: 'resource.Quantity',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'Limits that are enforced.',
      },
      used: {
        number: 2,
        type: 'resource.Quantity',
        map: 'string',
        omitempty: true,
        optional: true,
        doc: 'What is in use.',
      },
    },
  },
  docs: {
    ResourceQuota: 'Limits on what all objects of a namespace take together.',
    ResourceQuotaList: 'A list of ResourceQuota objects.',
    ResourceQuotaSpec: 'What a ResourceQuota enforces.',
    ResourceQuotaStatus: 'What a ResourceQuota enforces and what is used.',
  },
  resources: [
    {
      resource: 'resourcequotas',
      singular: 'resourcequota',
      kind: 'ResourceQuota',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['quota'],
      subresources: [{ name: 'status', kind: 'ResourceQuota', verbs: ['get', 'patch', 'update'] }],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Age', type: 'string' },
        { name: 'Request', type: 'string' },
        { name: 'Limit', type: 'string' },
      ],
    },
  ],
};
