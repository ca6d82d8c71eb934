import { bareKind, defineTypes, message, optional, pointer, required, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Event: bareKind('A report of something that happened to an object. Kept for a limited time, and made on a best-effort basis.', {
      metadata: optional(1, 'meta.v1.ObjectMeta', { omitempty: false }, "Standard object's metadata: name, labels, annotations and other data that every object has."),
      eventTime: required(2, 'meta.v1.MicroTime', 'When it was first seen, to the microsecond. Required.'),
      series: pointer(3, 'EventSeries', 'Set for an event that goes on happening.'),
      reportingController: optional(4, 'string', 'Name of the controller that reports the event. Required.'),
      reportingInstance: optional(5, 'string', "Instance of that controller, such as its pod's name. At most 128 characters. Required."),
      action: optional(6, 'string', 'What was done or failed, in one word. At most 128 characters. Required.'),
      reason: optional(7, 'string', 'Why it happened, in one CamelCase word. At most 128 characters. Required.'),
      regarding: optional(8, 'core.v1.ObjectReference', 'The object that the event is about.'),
      related: pointer(9, 'core.v1.ObjectReference', 'Another object that the event has to do with.'),
      note: optional(10, 'string', 'What happened, for people. At most 1024 bytes.'),
      type: optional(11, 'string', '`Normal` or `Warning`.'),
      deprecatedSource: optional(12, 'core.v1.EventSource', 'Who reports the event, as the core group has it.'),
      deprecatedFirstTimestamp: optional(13, 'meta.v1.Time', 'When it was first seen, as the core group has it.'),
      deprecatedLastTimestamp: optional(14, 'meta.v1.Time', 'When it was last seen, as the core group has it.'),
      deprecatedCount: optional(15, 'int32', 'How often it was seen, as the core group has it.'),
    }),
    EventSeries: message('Repetitions of an event.', {
      count: required(1, 'int32', 'How often it happened so far in this series. At least 2.'),
      lastObservedTime: required(2, 'meta.v1.MicroTime', 'When it last happened.'),
    }),
  },
  resources: [
    {
      resource: 'events',
      kind: 'Event',
      refusedIn: '',
      storedAs: { group: 'core', version: 'v1' },
      shortNames: ['ev'],
      columns: ['Last Seen', 'Type', 'Reason', 'Object', ...wide('Subobject', 'Source'), 'Message', ...wide('First Seen', 'Count', 'Name')],
    },
  ],
});
