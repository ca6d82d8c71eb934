import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Event: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta' },
      involvedObject: { number: 2, type: 'ObjectReference' },
      reason: { number: 3, type: 'string', omitempty: true, optional: true },
      message: { number: 4, type: 'string', omitempty: true, optional: true },
      source: { number: 5, type: 'EventSource', omitempty: true, optional: true },
      firstTimestamp: { number: 6, type: 'meta.v1.Time', omitempty: true, optional: true },
      lastTimestamp: { number: 7, type: 'meta.v1.Time', omitempty: true, optional: true },
      count: { number: 8, type: 'int32', omitempty: true, optional: true },
      type: { number: 9, type: 'string', omitempty: true, optional: true },
      eventTime: { number: 10, type: 'meta.v1.MicroTime', omitempty: true, optional: true },
      series: { number: 11, type: 'EventSeries', pointer: true, omitempty: true, optional: true },
      action: { number: 12, type: 'string', omitempty: true, optional: true },
      related: { number: 13, type: 'ObjectReference', pointer: true, omitempty: true, optional: true },
      reportingComponent: { number: 14, type: 'string', optional: true },
      reportingInstance: { number: 15, type: 'string', optional: true },
    },
    EventList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'Event', repeated: true },
    },
    EventSeries: {
      count: { number: 1, type: 'int32', omitempty: true, optional: true },
      lastObservedTime: { number: 2, type: 'meta.v1.MicroTime', omitempty: true, optional: true },
    },
    EventSource: {
      component: { number: 1, type: 'string', omitempty: true, optional: true },
      host: { number: 2, type: 'string', omitempty: true, optional: true },
    },
  },
  resources: [
    {
      resource: 'events',
      singular: 'event',
      kind: 'Event',
      namespaced: true,
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['ev'],
      columns: [
        { name: 'Last Seen', type: 'string' },
        { name: 'Type', type: 'string' },
        { name: 'Reason', type: 'string' },
        { name: 'Object', type: 'string' },
        { name: 'Subobject', type: 'string', priority: 1 },
        { name: 'Source', type: 'string', priority: 1 },
        { name: 'Message', type: 'string' },
        { name: 'First Seen', type: 'string', priority: 1 },
        { name: 'Count', type: 'string', priority: 1 },
        { name: 'Name', type: 'string', format: 'name', priority: 1 },
      ],
    },
  ],
};
