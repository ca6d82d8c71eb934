import t from 'tap';
import { eventsV1Strategy } from '#api/events/v1/event/strategy.js';
import { checkRules, checkUpdateRules, type RuleRow } from '#api/testing/rule-table.js';
import type { Draft } from '#api/testing/strategy-table.js';

t.test('events are validated as in 1.24', (t) => {
  const base: Draft = {
    metadata: { name: 'e', namespace: 'ns' },
    eventTime: '2024-05-31T23:59:00.000000Z',
    reportingController: 'x.io/c',
    reportingInstance: 'i',
    action: 'Act',
    reason: 'Why',
    type: 'Normal',
    regarding: { kind: 'Pod', namespace: 'ns', name: 'p' },
  };
  const create: RuleRow[] = [
    ['eventTime', undefined, 'eventTime: Required value'],
    ['type', '', 'type: Invalid value: "": has invalid value: '],
    ['type', 'Odd', 'type: Invalid value: "": has invalid value: Odd'],
    [
      'reportingController',
      '',
      'reportingController: Required value',
      'reportingController: Invalid value: "": name part must be non-empty',
      `reportingController: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'reportingController',
      'a b',
      `reportingController: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    ['reportingInstance', '', 'reportingInstance: Required value'],
    ['reportingInstance', 'x'.repeat(129), 'reportingInstance: Invalid value: "": can have at most 128 characters'],
    ['action', '', 'action: Required value'],
    ['action', 'x'.repeat(129), 'action: Invalid value: "": can have at most 128 characters'],
    ['reason', '', 'reason: Required value'],
    ['reason', 'x'.repeat(129), 'reason: Invalid value: "": can have at most 128 characters'],
    ['note', 'x'.repeat(1025), 'message: Invalid value: "": can have at most 1024 characters'],
    ['regarding.namespace', 'other'],
    ['regarding.namespace', undefined, 'involvedObject.namespace: Invalid value: "": does not match event.namespace'],
    ['deprecatedCount', 1, 'count: Invalid value: "": needs to be unset'],
    ['deprecatedFirstTimestamp', '2024-05-31T23:00:00Z', 'firstTimestamp: Invalid value: "": needs to be unset'],
    ['deprecatedLastTimestamp', '2024-05-31T23:00:00Z', 'lastTimestamp: Invalid value: "": needs to be unset'],
    ['deprecatedSource', { component: 'c' }, 'source: Invalid value: "": needs to be unset'],
    [
      'series',
      { count: 1, lastObservedTime: '2024-05-31T23:59:30.000000Z' },
      'series.count: Invalid value: "": should be at least 2',
    ],
    ['series', { count: 2 }, 'series.lastObservedTime: Required value'],
    ['series', { count: 2, lastObservedTime: '2024-05-31T23:59:30.000000Z' }],
  ];
  checkRules(t, eventsV1Strategy, base, create);
  const update: RuleRow[] = [
    ['reason', 'Other', 'reason: Invalid value: "Other": field is immutable'],
    ['note', 'x', 'message: Invalid value: "x": field is immutable'],
    ['action', 'Other', 'action: Invalid value: "Other": field is immutable'],
    ['type', 'Warning', 'type: Invalid value: "Warning": field is immutable'],
    [
      'regarding.name',
      'q',
      'involvedObject: Invalid value: core.ObjectReference{Kind:"Pod", Namespace:"ns", Name:"q", UID:"", APIVersion:"", ResourceVersion:"", FieldPath:""}: field is immutable',
    ],
    [
      'related',
      { name: 'r' },
      'related: Invalid value: core.ObjectReference{Kind:"", Namespace:"", Name:"r", UID:"", APIVersion:"", ResourceVersion:"", FieldPath:""}: field is immutable',
    ],
    ['reportingController', 'y.io/c', 'reportingController: Invalid value: "y.io/c": field is immutable'],
    ['reportingInstance', 'j', 'reportingInstance: Invalid value: "j": field is immutable'],
    [
      'eventTime',
      '2024-05-31T23:58:00.000000Z',
      'eventTime: Invalid value: 2024-05-31 23:58:00 +0000 UTC: field is immutable',
    ],
    ['deprecatedCount', 2, 'count: Invalid value: 2: field is immutable'],
    ['series', { count: 2, lastObservedTime: '2024-05-31T23:59:30.000000Z' }],
    [
      'series',
      { count: 1, lastObservedTime: '2024-05-31T23:59:30.000000Z' },
      'series.count: Invalid value: "": should be at least 2',
    ],
  ];
  checkUpdateRules(t, eventsV1Strategy, base, update);
  t.end();
});
