import { bareKind, defineTypes, message, optional, pointer, required, wide } from '#apimachinery/schema/language.js';

export const declaration = defineTypes({
  types: {
    Event: bareKind('A report of something that happened to an object. Kept for a limited time, and made on a best-effort basis.', {
      metadata: required(1, 'meta.v1.ObjectMeta', 'Name, namespace and other data that every object has.'),
      involvedObject: required(2, 'ObjectReference', 'The object that the event is about.'),
      reason: optional(3, 'string', 'Why it happened, in one CamelCase word, for programs.'),
      message: optional(4, 'string', 'What happened, for people.'),
      source: optional(5, 'EventSource', 'Who reports the event. New reporters set `reportingComponent` instead.'),
      firstTimestamp: optional(6, 'meta.v1.Time', 'When it was first seen.'),
      lastTimestamp: optional(7, 'meta.v1.Time', 'When it was last seen.'),
      count: optional(8, 'int32', 'How often it was seen.'),
      type: optional(9, 'string', '`Normal` or `Warning`.'),
      eventTime: optional(10, 'meta.v1.MicroTime', 'When it was first seen, to the microsecond.'),
      series: pointer(11, 'EventSeries', 'Set for an event that goes on happening.'),
      action: optional(12, 'string', 'What was done or failed, in one word.'),
      related: pointer(13, 'ObjectReference', 'Another object that the event has to do with.'),
      reportingComponent: optional(14, 'string', { omitempty: false }, 'Name of the controller that reports the event.'),
      reportingInstance: optional(15, 'string', { omitempty: false }, "Instance of that controller, such as its pod's name."),
    }),
    EventSeries: message('Repetitions of an event.', {
      count: optional(1, 'int32', 'How often it happened so far in this series.'),
      lastObservedTime: optional(2, 'meta.v1.MicroTime', 'When it last happened.'),
    }),
    EventSource: message('A component that reports events.', {
      component: optional(1, 'string', 'Name of the component.'),
      host: optional(2, 'string', 'Node that the component runs on.'),
    }),
  },
  resources: [
    {
      resource: 'events',
      kind: 'Event',
      shortNames: ['ev'],
      columns: ['Last Seen', 'Type', 'Reason', 'Object', ...wide('Subobject', 'Source'), 'Message', ...wide('First Seen', 'Count', 'Name')],
    },
  ],
});
