import t from 'tap';
import { eventStrategy } from '#api/core/v1/event/strategy.js';
import type { Event as CoreEvent } from '#api/core/v1/types.gen.js';
import { eventFromCore, eventToCore } from '#api/events/v1/event/conversion.js';
import { eventsV1Strategy } from '#api/events/v1/event/strategy.js';
import type { Event } from '#api/events/v1/types.gen.js';
import { createFailures, type Draft, testContext, updateFailures, withField } from '#api/testing/strategy-table.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';

const base = {
  metadata: { name: 'e', namespace: 'ns' },
  eventTime: '2024-05-31T23:59:00.000000Z',
  reportingController: 'x.io/c',
  reportingInstance: 'i',
  action: 'Act',
  reason: 'Why',
  type: 'Normal',
  regarding: { kind: 'Pod', namespace: 'ns', name: 'p', fieldPath: 'spec' },
  note: ' text ',
};

t.test('both forms have the same content', (t) => {
  const full: Event = {
    ...base,
    apiVersion: 'events.orch.io/v1',
    kind: 'Event',
    series: { count: 3, lastObservedTime: '2024-05-31T23:59:30.000000Z' },
    related: { name: 'r' },
    deprecatedSource: { component: 'c', host: 'h' },
    deprecatedFirstTimestamp: '2024-05-31T23:00:00Z',
    deprecatedLastTimestamp: '2024-05-31T23:30:00Z',
    deprecatedCount: 2,
  };
  const core = eventToCore(full, orchDialect);
  t.strictSame(core, {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: base.metadata,
    involvedObject: base.regarding,
    eventTime: base.eventTime,
    series: full.series,
    reportingComponent: 'x.io/c',
    reportingInstance: 'i',
    action: 'Act',
    reason: 'Why',
    related: { name: 'r' },
    type: 'Normal',
    message: ' text ',
    source: { component: 'c', host: 'h' },
    firstTimestamp: '2024-05-31T23:00:00Z',
    lastTimestamp: '2024-05-31T23:30:00Z',
    count: 2,
  });
  t.strictSame(eventFromCore(core, orchDialect), full);
  t.equal(eventFromCore(core, kubernetesDialect).apiVersion, 'events.k8s.io/v1');
  t.strictSame(
    eventToCore({ metadata: {}, eventTime: 'x' }, orchDialect).involvedObject,
    {},
    'what is required is there',
  );
  t.end();
});

t.test('rules of the newer form', (t) => {
  const long = 'x'.repeat(129);
  const rows: [string, unknown, ...string[]][] = [
    ['eventTime', undefined, 'eventTime: Required value'],
    ['type', 'Odd', 'type: Invalid value: "": has invalid value: Odd'],
    ['reportingInstance', '', 'reportingInstance: Required value'],
    ['reportingInstance', long, 'reportingInstance: Invalid value: "": can have at most 128 characters'],
    ['action', '', 'action: Required value'],
    ['action', long, 'action: Invalid value: "": can have at most 128 characters'],
    ['reason', '', 'reason: Required value'],
    ['reason', long, 'reason: Invalid value: "": can have at most 128 characters'],
    ['note', 'x'.repeat(1025), 'message: Invalid value: "": can have at most 1024 characters'],
    [
      'series',
      { count: 1 },
      'series.count: Invalid value: "": should be at least 2',
      'series.lastObservedTime: Required value',
    ],
    ['deprecatedCount', 1, 'count: Invalid value: "": needs to be unset'],
    ['deprecatedFirstTimestamp', '2024-05-31T23:00:00Z', 'firstTimestamp: Invalid value: "": needs to be unset'],
    ['regarding.namespace', 'other'],
    ['regarding.namespace', undefined, 'involvedObject.namespace: Invalid value: "": does not match event.namespace'],
  ];
  t.strictSame(createFailures(eventsV1Strategy, base), []);
  for (const [path, value, ...want] of rows) {
    t.strictSame(createFailures(eventsV1Strategy, withField(base, path, value)), want, path);
  }
  t.match(createFailures(eventsV1Strategy, withField(base, 'reportingController', '')), [
    'reportingController: Required value',
  ]);
  const series = withField(base, 'series', { count: 2, lastObservedTime: '2024-05-31T23:59:30.000000Z' });
  t.strictSame(updateFailures(eventsV1Strategy, base, series), []);
  t.strictSame(updateFailures(eventsV1Strategy, base, withField(base, 'note', 'other')), [
    'message: Invalid value: "other": field is immutable',
  ]);
  t.end();
});

t.test('rules of the older form', (t) => {
  const core: Draft = { metadata: { name: 'e.17', namespace: 'ns' }, involvedObject: { namespace: 'ns' } };
  t.strictSame(createFailures(eventStrategy, core), []);
  const wrong = 'does not match event.namespace';
  t.strictSame(createFailures(eventStrategy, withField(core, 'involvedObject', {})), [
    `involvedObject.namespace: Invalid value: "": ${wrong}`,
  ]);
  t.strictSame(
    createFailures(eventStrategy, { metadata: { name: 'e', namespace: 'default' }, involvedObject: {} }),
    [],
  );
  t.end();
});

t.test('cells and selectable fields', (t) => {
  const core: CoreEvent = eventToCore(base as Event, orchDialect);
  t.strictSame(eventStrategy.cells?.(core, testContext), [
    '60s',
    'Normal',
    'Why',
    'pod/p',
    'spec',
    'x.io/c, i',
    'text',
    '60s',
    1,
    'e',
  ]);
  const old: CoreEvent = {
    metadata: { name: 'e' },
    involvedObject: { kind: 'Node' },
    source: { component: 'c', host: 'h' },
    firstTimestamp: '2024-05-31T23:00:00Z',
    lastTimestamp: '2024-05-31T23:58:00Z',
    count: 7,
  };
  t.strictSame(eventStrategy.cells?.(old, testContext), ['2m', '', '', 'node', '', 'c, h', '', '60m', 7, 'e']);
  t.match(eventStrategy.selectableFields?.(old), {
    'involvedObject.kind': 'Node',
    'involvedObject.name': '',
    source: 'c',
    type: '',
  });
  const offered = Object.keys(eventStrategy.selectableFields?.(old) ?? {});
  const named = offered.filter((name) => name !== 'source').sort();
  t.strictSame(Object.values(eventsV1Strategy.fieldLabels ?? {}).sort(), named, 'the newer form has other names');
  t.match(eventsV1Strategy.fieldLabels, { 'regarding.kind': 'involvedObject.kind' });
  t.end();
});
