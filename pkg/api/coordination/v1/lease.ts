import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Lease: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', omitempty: true, optional: true },
      spec: { number: 2, type: 'LeaseSpec', omitempty: true, optional: true },
    },
    LeaseList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'Lease', repeated: true },
    },
    LeaseSpec: {
      holderIdentity: { number: 1, type: 'string', pointer: true, omitempty: true, optional: true },
      leaseDurationSeconds: { number: 2, type: 'int32', pointer: true, omitempty: true, optional: true },
      acquireTime: { number: 3, type: 'meta.v1.MicroTime', pointer: true, omitempty: true, optional: true },
      renewTime: { number: 4, type: 'meta.v1.MicroTime', pointer: true, omitempty: true, optional: true },
      leaseTransitions: { number: 5, type: 'int32', pointer: true, omitempty: true, optional: true },
    },
  },
  resources: [
    {
      resource: 'leases',
      singular: 'lease',
      kind: 'Lease',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Holder', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
    },
  ],
};
