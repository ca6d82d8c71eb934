import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Lease: {
      metadata: {
        number: 1,
        type: 'meta.v1.ObjectMeta',
        omitempty: true,
        optional: true,
        doc: 'Name, labels, annotations and other data that every object has.',
      },
      spec: { number: 2, type: 'LeaseSpec', omitempty: true, optional: true, doc: 'What the object is meant to be.' },
    },
    LeaseList: {
      metadata: {
        number: 1,
        type: 'meta.v1.ListMeta',
        omitempty: true,
        optional: true,
        doc: 'Resource version of the list, and where to continue when it comes in chunks.',
      },
      items: { number: 2, type: 'Lease', repeated: true, doc: 'The objects of the list.' },
    },
    LeaseSpec: {
      holderIdentity: {
        number: 1,
        type: 'string',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Who holds it. Empty: nobody.',
      },
      leaseDurationSeconds: {
        number: 2,
        type: 'int32',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Seconds after the last renewal that others must wait before they take it. More than 0.',
      },
      acquireTime: {
        number: 3,
        type: 'meta.v1.MicroTime',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'When the holder took it.',
      },
      renewTime: {
        number: 4,
        type: 'meta.v1.MicroTime',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'When the holder last renewed it.',
      },
      leaseTransitions: {
        number: 5,
        type: 'int32',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'How often it went from one holder to another.',
      },
    },
  },
  docs: {
    Lease: 'A claim on something, such as leadership, that must be renewed; also the heartbeat of a node.',
    LeaseList: 'A list of Lease objects.',
    LeaseSpec: 'Who holds a lease, and for how long.',
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
