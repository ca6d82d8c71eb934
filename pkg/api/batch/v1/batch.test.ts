import t from 'tap';
import { ScheduleError } from '#api/batch/v1/cronjob/cron-field.js';
import { parseSchedule } from '#api/batch/v1/cronjob/schedule.js';
import { cronJobStrategy } from '#api/batch/v1/cronjob/strategy.js';
import { jobStrategy } from '#api/batch/v1/job/strategy.js';
import {
  created,
  createFailures,
  type Draft,
  testContext,
  updateFailures,
  withField,
} from '#api/testing/strategy-table.js';

const pod = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] };
const meta = { name: 'j', namespace: 'ns', uid: 'u', creationTimestamp: '2024-05-31T23:00:00Z' };
type Row = [string, unknown, ...string[]];

t.test('jobs', (t) => {
  const base: Draft = { metadata: meta, spec: { template: { spec: pod } } };
  const labels = { 'controller-uid': 'u', 'job-name': 'j' };
  t.match(created(jobStrategy, base), {
    metadata: { generation: 1 },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      suspend: false,
      selector: { matchLabels: { 'controller-uid': 'u' } },
      template: { metadata: { labels } },
    },
  });
  const rows: Row[] = [
    ['spec.parallelism', -1, 'spec.parallelism: Invalid value: -1: must be greater than or equal to 0'],
    ['spec.backoffLimit', -1, 'spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0'],
    [
      'spec.completionMode',
      'X',
      'spec.completionMode: Unsupported value: "X": supported values: "NonIndexed", "Indexed"',
    ],
    [
      'spec.template.spec.restartPolicy',
      undefined,
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'spec',
      { manualSelector: true, template: { spec: pod } },
      'spec.selector: Required value',
      'spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template `labels`',
    ],
    [
      'spec',
      { completionMode: 'Indexed', parallelism: 1, template: { spec: pod } },
      'spec.completions: Required value: when completion mode is Indexed',
    ],
  ];
  t.strictSame(createFailures(jobStrategy, base), []);
  for (const [path, value, ...want] of rows)
    t.strictSame(createFailures(jobStrategy, withField(base, path, value)), want, path);
  const stored = created(jobStrategy, base) as unknown as Draft;
  t.strictSame(updateFailures(jobStrategy, stored, withField(stored, 'spec.parallelism', 3)), []);
  t.strictSame(updateFailures(jobStrategy, stored, withField(stored, 'spec.completions', 3)), [
    'spec.completions: Invalid value: 3: field is immutable',
  ]);
  t.equal(jobStrategy.defaultPropagation, 'Orphan');
  const cells = (spec: object, status: object): unknown => {
    const object = { ...created(jobStrategy, withField(base, 'spec', { template: { spec: pod }, ...spec })), status };
    return jobStrategy.cells?.(object as never, testContext);
  };
  t.strictSame(cells({}, {}), ['j', '0/1', '', '60m', 'c', 'i', 'controller-uid=u']);
  const times = { startTime: '2024-05-31T23:00:00Z', completionTime: '2024-05-31T23:01:00Z' };
  t.match(cells({ completions: 3 }, { succeeded: 3, ...times }), { 1: '3/3', 2: '60s' });
  t.match(cells({ parallelism: 2 }, { startTime: times.startTime }), { 1: '0/1 of 2', 2: '60m' });
  t.end();
});

t.test('cron jobs', (t) => {
  const base: Draft = {
    metadata: meta,
    spec: { schedule: '*/5 * * * *', jobTemplate: { spec: { template: { spec: pod } } } },
  };
  const rows: Row[] = [
    ['spec.schedule', undefined, 'spec.schedule: Required value'],
    ['spec.schedule', '* * *', 'spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]'],
    [
      'spec.concurrencyPolicy',
      'X',
      'spec.concurrencyPolicy: Unsupported value: "X": supported values: "Allow", "Forbid", "Replace"',
    ],
    [
      'spec.startingDeadlineSeconds',
      -1,
      'spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'spec.jobTemplate.spec.selector',
      {},
      'spec.jobTemplate.spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: `selector` will be auto-generated',
    ],
    [
      'metadata.name',
      'x'.repeat(53),
      `metadata.name: Invalid value: "${'x'.repeat(53)}": must be no more than 52 characters`,
    ],
  ];
  t.strictSame(createFailures(cronJobStrategy, base), []);
  for (const [path, value, ...want] of rows)
    t.strictSame(createFailures(cronJobStrategy, withField(base, path, value)), want, path);
  t.strictSame(cronJobStrategy.cells?.(created(cronJobStrategy, base) as never, testContext), [
    'j',
    '*/5 * * * *',
    'False',
    0,
    '<none>',
    '60m',
    'c',
    'i',
    '<none>',
  ]);
  t.end();
});

t.test('schedules', (t) => {
  const fields = (text: string) => {
    const schedule = parseSchedule(text);
    if (schedule.kind !== 'fields') throw new Error('not fields');
    return schedule.fields;
  };
  t.strictSame([...fields('*/20 1-3 * * *').minutes], [0, 20, 40]);
  t.strictSame([...fields('*/20 1-3 * * *').hours], [1, 2, 3]);
  t.strictSame([...fields('50/5 * * * *').minutes], [50, 55]);
  t.strictSame([...fields('0 0 1,15 jan-mar mon,FRI').weekdays], [1, 5]);
  t.strictSame([...fields('0 0 1,15 jan-mar mon,FRI').months], [1, 2, 3]);
  t.strictSame([...fields('@weekly').weekdays], [0]);
  t.equal(fields('0 0 * * 1').anyDay, true);
  t.equal(fields('0 0 */2 * 1').anyDay, false);
  t.match(parseSchedule('TZ=Europe/Berlin 0 0 * * *'), { timeZone: 'Europe/Berlin' });
  t.strictSame(parseSchedule('@every 1h30m'), { kind: 'every', intervalMs: 5_400_000 });
  for (const bad of [
    '',
    '@never',
    '* * * *',
    '60 * * * *',
    '* * 0 * *',
    '5-1 * * * *',
    '*/0 * * * *',
    'a * * * *',
    '@every x',
    '1--2 * * * *',
  ]) {
    t.throws(() => parseSchedule(bad), ScheduleError, bad);
  }
  t.end();
});
