import t from 'tap';
import { cronJobStrategy } from '#api/batch/v1/cronjob/strategy.js';
import { jobStrategy } from '#api/batch/v1/job/strategy.js';
import type { Job } from '#api/batch/v1/types.gen.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { created, createFailures, type Draft, testContext, updated, withField } from '#api/testing/strategy-table.js';

const jobs = jobStrategy as unknown as Strategy;
const cronJobs = cronJobStrategy as unknown as Strategy;

const template = { spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' } };
const base: Draft = {
  metadata: { name: 'a', namespace: 'b', uid: 'u' },
  spec: { suspend: true, template },
};

t.test('scheduling directives of a suspended job may change until it starts', (t) => {
  const failures = (draft: Draft, path: string, value: unknown, status?: object): string[] => {
    const old = created(jobs, draft) as Job;
    if (status !== undefined) Object.assign(old, { status });
    const next = updated(jobs, withField(old as unknown as Draft, path, value), old) as Job;
    return (jobs.validateUpdate?.(next, old, testContext) ?? []).map(({ field, message }) => `${field}: ${message}`);
  };
  const nodeAffinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } };
  const podAffinity = { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } };
  const rows: [path: string, value: unknown, allowed: boolean][] = [
    ['spec.template.spec.nodeSelector', { zone: 'a' }, true],
    ['spec.template.spec.tolerations', [{ operator: 'Exists' }], true],
    ['spec.template.metadata.annotations', { a: 'b' }, true],
    ['spec.template.spec.affinity', nodeAffinity, true],
    ['spec.template.spec.affinity', podAffinity, false],
    ['spec.template.spec.containers.0.image', 'j', false],
  ];
  for (const [path, value, allowed] of rows) {
    const got = failures(base, path, value);
    if (allowed) t.strictSame(got, [], path);
    else t.match(got, [/^spec.template: .*field is immutable/], path);
    t.match(
      failures(base, path, value, { startTime: '2024-05-31T23:00:00Z' }),
      [/spec.template/],
      'after the job started',
    );
    t.match(failures(withField(base, 'spec.suspend', false), path, value), [/spec.template/], 'while the job runs');
  }
  t.end();
});

t.test('the name of an indexed job leaves room for the index', (t) => {
  const indexed = { ...(base['spec'] as object), completionMode: 'Indexed', completions: 11 };
  const named = (name: string): Draft => ({ metadata: { name, namespace: 'b', uid: 'u' }, spec: indexed });
  t.strictSame(createFailures(jobs, named('a'.repeat(60))), []);
  t.match(createFailures(jobs, named('a'.repeat(61))), [/^metadata.name: .*will not able to create pod/]);
  t.end();
});

t.test('the time zone of a cron job must exist', (t) => {
  const cron: Draft = {
    metadata: { name: 'a', namespace: 'b' },
    spec: { schedule: '0 0 * * *', jobTemplate: { spec: { template } } },
  };
  const failures = (timeZone: string, schedule = '0 0 * * *'): string[] => {
    const object = created(cronJobs, withField(cron, 'spec.schedule', schedule));
    Object.assign((object as unknown as { spec: object }).spec, { timeZone });
    return (cronJobs.validateCreate?.(object, testContext) ?? []).map(({ field, message }) => `${field}: ${message}`);
  };
  t.strictSame(failures('Europe/Berlin'), []);
  t.match(failures(''), [/^spec.timeZone: .*must be nil or non-empty/]);
  t.match(failures('Local'), [/^spec.timeZone: .*explicit time zone/]);
  t.match(failures('Mars/Base'), [/^spec.timeZone: .*unknown time zone Mars/]);
  t.equal(
    (created(cronJobs, withField(cron, 'spec.timeZone', 'UTC')) as unknown as { spec: { timeZone?: string } }).spec
      .timeZone,
    undefined,
  );
  t.end();
});
