import t from 'tap';
import type { CronJob, CronJobSpec, CronJobStatus, Job } from '#api/batch/v1/types.gen.js';
import { jobName, observeJobs, outdatedJobs, planStart, type ZoneOptions } from '#controllers/cronjob/plan.js';

const now = Date.parse('2022-05-03T10:30:20Z');
const zones: ZoneOptions = { timeZones: true, localZone: 'UTC' };
const due = Date.parse('2022-05-03T10:30:00Z');

function cronJob(spec: Partial<CronJobSpec> = {}, status?: CronJobStatus, created = '2022-05-03T10:29:10Z'): CronJob {
  return {
    metadata: { name: 'tick', namespace: 'default', creationTimestamp: created },
    spec: { schedule: '* * * * *', jobTemplate: {}, ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

function job(name: string, end?: 'Complete' | 'Failed', at = '2022-05-03T10:00:00Z'): Job {
  const done = end === 'Complete' ? { completionTime: at } : {};
  const status = end === undefined ? {} : { ...done, startTime: at, conditions: [{ type: end, status: 'True' }] };
  return { metadata: { name, namespace: 'default', uid: `uid-${name}` }, spec: { template: {} }, status };
}

const running = { active: [{ name: 'tick-1', namespace: 'default', uid: 'uid-tick-1' }] };

t.test('a job starts when it is due and the policy allows it', (t) => {
  type Row = [name: string, given: CronJob, start: number | undefined, reasons: string[]];
  const last = '2022-05-03T10:30:00Z';
  const rows: Row[] = [
    ['due since creation', cronJob(), due, []],
    ['not due yet', cronJob({ schedule: '0 * * * *' }), undefined, []],
    ['started already', cronJob({}, { lastScheduleTime: last }), undefined, []],
    ['running already', cronJob({}, { active: [{ name: jobName(cronJob(), due) }] }), undefined, []],
    ['suspended', cronJob({ suspend: true }), undefined, []],
    ['Allow: another job runs', cronJob({ concurrencyPolicy: 'Allow' }, running), due, []],
    ['Forbid: another job runs', cronJob({ concurrencyPolicy: 'Forbid' }, running), undefined, ['JobAlreadyActive']],
    ['Replace: another job runs', cronJob({ concurrencyPolicy: 'Replace' }, running), due, []],
    ['too late', cronJob({ startingDeadlineSeconds: 10 }), undefined, []],
    ['late, but not too late', cronJob({ startingDeadlineSeconds: 30 }), due, []],
    ['only the last of several missed starts', cronJob({}, undefined, '2022-05-03T10:00:00Z'), due, []],
    ['a hundred missed', cronJob({}, undefined, '2022-05-03T08:50:00Z'), due, []],
    ['more than a hundred missed', cronJob({}, undefined, '2022-05-03T08:49:00Z'), due, ['TooManyMissedTimes']],
    ['a year missed', cronJob({}, undefined, '2021-05-03T08:49:00Z'), due, ['TooManyMissedTimes']],
    ['the last start is in the future', cronJob({}, { lastScheduleTime: '2022-05-03T11:00:00Z' }), undefined, []],
    ['a schedule without instants', cronJob({ schedule: '59 23 31 2 *' }), undefined, ['InvalidSchedule']],
    ['a malformed schedule', cronJob({ schedule: 'now' }), undefined, ['UnparseableSchedule']],
    ['a zone in the schedule', cronJob({ schedule: 'TZ=UTC * * * * *' }), due, ['UnsupportedSchedule']],
    ['a zone', cronJob({ schedule: '30 12 * * *', timeZone: 'Europe/Berlin' }), due, []],
    ['an unknown zone', cronJob({ timeZone: 'Mars/Base' }), undefined, ['UnknownTimeZone']],
  ];
  for (const [name, given, start, reasons] of rows) {
    const plan = planStart(given, zones, now);
    t.equal(plan.startMs, start, name);
    t.same(
      plan.events.map(({ reason }) => reason),
      reasons,
      name,
    );
  }
  t.same(planStart(cronJob({ concurrencyPolicy: 'Replace' }, running), zones, now).replace, running.active);
  t.equal(planStart(cronJob(), zones, now).requeueAfterMs, 40_100);
  t.match(planStart(cronJob({}, undefined, '2022-05-03T08:49:00Z'), zones, now).events, [
    {
      type: 'Warning',
      message: 'too many missed start times: 101. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    },
  ]);
  const off = { ...zones, timeZones: false };
  t.equal(planStart(cronJob({ timeZone: 'Mars/Base' }), off, now).startMs, due, 'time zones are ignored when disabled');
  t.equal(jobName(cronJob(), due), `tick-${due / 60_000}`);
  t.end();
});

t.test('the status follows finished, missing and unexpected jobs', (t) => {
  const old = { ...running, lastSuccessfulTime: '2022-05-03T09:00:00Z' };
  const { status, events } = observeJobs(cronJob({}, old), [job('tick-1', 'Complete')], new Set());
  t.match(status, { active: [], lastSuccessfulTime: '2022-05-03T10:00:00Z' });
  t.same(events, [
    { type: 'Normal', reason: 'SawCompletedJob', message: 'Saw completed job: tick-1, status: Complete' },
  ]);
  const failed = observeJobs(cronJob({}, old), [job('tick-1', 'Failed')], new Set());
  t.match(failed.status, { active: [], lastSuccessfulTime: '2022-05-03T09:00:00Z' });
  const gone = observeJobs(cronJob({}, old), [], new Set(['uid-tick-1']));
  t.match(gone.status.active, []);
  t.same(gone.events, [{ type: 'Normal', reason: 'MissingJob', message: 'Active job went missing: tick-1' }]);
  const strange = observeJobs(cronJob({}, old), [job('tick-1'), job('by-hand')], new Set());
  t.same(strange.status.active, old.active);
  t.match(strange.events, [{ reason: 'UnexpectedJob', message: /did not create or forgot: by-hand/ }]);
  t.end();
});

t.test('finished jobs beyond the history limits are deleted', (t) => {
  const jobs = [
    job('c', 'Complete', '2022-05-03T03:00:00Z'),
    job('a', 'Complete', '2022-05-03T01:00:00Z'),
    job('b', 'Complete', '2022-05-03T02:00:00Z'),
    job('f', 'Failed'),
    job('running'),
  ];
  const names = (spec: Partial<CronJobSpec>) => outdatedJobs(cronJob(spec), jobs).map(({ metadata }) => metadata.name);
  t.same(names({ successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 1 }), ['a', 'b']);
  t.same(names({ successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0 }), ['a', 'b', 'c', 'f']);
  t.same(names({}), []);
  t.end();
});
