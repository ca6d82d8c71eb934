import { defineTypes, message, object, optional, pointer } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Lease: object('A claim on something, such as leadership, that must be renewed; also the heartbeat of a node.', {
      spec: optional(2, 'LeaseSpec', 'What the object is meant to be.'),
    }),
    LeaseSpec: message('Who holds a lease, and for how long.', {
      holderIdentity: pointer(1, 'string', 'The holder of the lease. Empty: the lease is free.'),
      leaseDurationSeconds: pointer(2, 'int32', { minimum: 1 }, 'Seconds after the last renewal that others must wait before they take it. More than 0.'),
      acquireTime: pointer(3, 'meta.v1.MicroTime', 'When the holder took it.'),
      renewTime: pointer(4, 'meta.v1.MicroTime', 'When the holder last renewed it.'),
      leaseTransitions: pointer(5, 'int32', { minimum: 0 }, 'How often it went from one holder to another.'),
    }),
  },
  resources: [
    {
      resource: 'leases',
      kind: 'Lease',
      columns: ['Name', 'Holder', 'Age'],
    },
  ],
});
