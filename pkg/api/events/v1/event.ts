import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = {
  types: {
    Event: {
      metadata: { number: 1, type: 'meta.v1.ObjectMeta', optional: true },
      eventTime: { number: 2, type: 'meta.v1.MicroTime' },
      series: { number: 3, type: 'EventSeries', pointer: true, omitempty: true, optional: true },
      reportingController: { number: 4, type: 'string', omitempty: true, optional: true },
      reportingInstance: { number: 5, type: 'string', omitempty: true, optional: true },
      action: { number: 6, type: 'string', omitempty: true, optional: true },
      reason: { number: 7, type: 'string', omitempty: true, optional: true },
      regarding: { number: 8, type: 'core.v1.ObjectReference', omitempty: true, optional: true },
      related: { number: 9, type: 'core.v1.ObjectReference', pointer: true, omitempty: true, optional: true },
      note: { number: 10, type: 'string', omitempty: true, optional: true },
      type: { number: 11, type: 'string', omitempty: true, optional: true },
      deprecatedSource: { number: 12, type: 'core.v1.EventSource', omitempty: true, optional: true },
      deprecatedFirstTimestamp: { number: 13, type: 'meta.v1.Time', omitempty: true, optional: true },
      deprecatedLastTimestamp: { number: 14, type: 'meta.v1.Time', omitempty: true, optional: true },
      deprecatedCount: { number: 15, type: 'int32', omitempty: true, optional: true },
    },
    EventList: {
      metadata: { number: 1, type: 'meta.v1.ListMeta', omitempty: true, optional: true },
      items: { number: 2, type: 'Event', repeated: true },
    },
    EventSeries: {
      count: { number: 1, type: 'int32' },
      lastObservedTime: { number: 2, type: 'meta.v1.MicroTime' },
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
