import t, { type Test } from 'tap';
import { cronjobs, jobs } from '#api/batch/v1/resources.gen.js';
import type { CronJob, CronJobSpec, Job } from '#api/batch/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { serverTimeout } from '#apimachinery/errors/status.js';
import { CronJobController } from '#controllers/cronjob/controller.js';
import { Harness } from '#controllers/framework/testing/harness.js';

const minuteMs = 60_000;

function setUp(t: Test, spec: Partial<CronJobSpec> = {}) {
  const harness = new Harness(t, [cronjobs, jobs]);
  const { api, clock, context } = harness;
  const jobTemplate = { metadata: { labels: { app: 'x' }, annotations: { note: 'y' } }, spec: { template: {} } };
  api.seed<CronJob>(cronjobs, {
    metadata: { name: 'tick', namespace: 'default' },
    spec: { schedule: '* * * * *', jobTemplate, successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1, ...spec },
  });
  const start = () =>
    harness.start(new CronJobController(context, { concurrency: 2, timeZones: false, localZone: 'UTC' }));
  const names = () => api.list(jobs).map(({ metadata }) => metadata.name);
  const status = () => api.get(cronjobs, 'default/tick')?.status;
  const change = async (edit: (object: Draft<CronJob>) => void) => {
    api.change<CronJob>(cronjobs, 'default/tick', edit);
    await harness.settled();
  };
  const finish = async (name: string | undefined, type: 'Complete' | 'Failed' = 'Complete') => {
    api.change<Job>(jobs, `default/${name}`, (job) => {
      const time = formatTime(clock.now());
      const completed = type === 'Complete' ? { completionTime: time } : {};
      job.status = { startTime: time, ...completed, conditions: [{ type, status: 'True', lastTransitionTime: time }] };
    });
    await harness.settled();
  };
  return { harness, api, clock, start, names, status, change, finish };
}

t.test('a job is started at each due time', async (t) => {
  const { harness, api, clock, start, names, status, finish } = setUp(t);
  await start();
  t.same(names(), []);
  const first = Math.floor(clock.now() / minuteMs) + 1;
  await harness.advance(minuteMs + 200);
  t.same(names(), [`tick-${first}`]);
  t.match(api.list(jobs)[0]?.metadata, {
    labels: { app: 'x' },
    annotations: { note: 'y' },
    ownerReferences: [{ kind: 'CronJob', name: 'tick', controller: true, blockOwnerDeletion: true }],
  });
  const active = { apiVersion: 'batch/v1', kind: 'Job', namespace: 'default', name: `tick-${first}`, uid: /./ };
  t.match(status(), { active: [active], lastScheduleTime: formatTime(first * minuteMs) });
  t.ok(harness.events.includes(`Normal SuccessfulCreate tick: Created job tick-${first}`));
  await finish(names()[0]);
  t.match(status(), { active: [], lastSuccessfulTime: /./ });
  t.ok(harness.events.includes(`Normal SawCompletedJob tick: Saw completed job: tick-${first}, status: Complete`));
  for (let i = 0; i < 4; i += 1) {
    await harness.advance(minuteMs);
    await finish(names().at(-1), i === 1 ? 'Failed' : 'Complete');
  }
  t.same(
    names(),
    [first + 2, first + 3, first + 4].map((minute) => `tick-${minute}`),
    'history limit',
  );
});

t.test('Replace: a running job is replaced', async (t) => {
  const { harness, start, names, status } = setUp(t, { concurrencyPolicy: 'Replace' });
  await start();
  await harness.advance(minuteMs + 200);
  const [first] = names();
  await harness.advance(minuteMs);
  t.equal(names().length, 1);
  t.not(names()[0], first);
  t.match(status()?.active, [{ name: names()[0] }]);
  t.equal(status()?.active?.length, 1);
  t.ok(harness.events.includes(`Normal SuccessfulDelete tick: Deleted job ${first}`));
});

t.test('Forbid: a running job delays the next', async (t) => {
  const { harness, start, names, finish } = setUp(t, { concurrencyPolicy: 'Forbid' });
  await start();
  await harness.advance(5 * minuteMs);
  t.equal(names().length, 1);
  await finish(names()[0]);
  t.equal(names().length, 2, 'the missed start follows');
});

t.test('a deleted active job is removed from the status', async (t) => {
  const { harness, api, start, names, status } = setUp(t, { schedule: '0 * * * *' });
  await start();
  await harness.advance(60 * minuteMs + 200);
  api.remove(jobs, `default/${names()[0]}`);
  await harness.settled();
  t.same(status()?.active ?? [], []);
  t.ok(harness.events.some((event) => event.startsWith('Normal MissingJob tick: Active job went missing: tick-')));
  t.equal(names().length, 0, 'the job is not started again');
});

t.test('a job is adopted after a lost response or an interrupted reconcile', async (t) => {
  const { harness, api, start, names, status } = setUp(t);
  const heal = api.intercept(({ verb, resource }) =>
    verb === 'update' && resource === 'cronjobs' ? serverTimeout({ group: '', resource }, 'update', 0) : undefined,
  );
  await start();
  await harness.advance(minuteMs + 200);
  t.equal(names().length, 1);
  t.equal(status()?.lastScheduleTime, undefined);
  heal();
  await harness.advance(20_000);
  t.equal(names().length, 1);
  t.match(status(), { active: [{ name: names()[0] }], lastScheduleTime: /./ });
});

t.test('a new schedule has no missed starts', async (t) => {
  const { harness, clock, start, names, change } = setUp(t, { schedule: '0 0 1 1 *' });
  await start();
  await harness.advance(30 * minuteMs + 20_000);
  await change((object) => {
    object.spec.schedule = '*/10 * * * *';
  });
  t.same(names(), []);
  await harness.advance(10 * minuteMs);
  t.same(names(), [`tick-${Math.floor(clock.now() / (10 * minuteMs)) * 10}`]);
});

t.test('a clock that is set forward starts the missed job', async (t) => {
  const { harness, clock, start, names } = setUp(t, { schedule: '0 6 * * *' });
  await start();
  clock.setWallClock(8 * 60 * minuteMs);
  await harness.advance(15_000);
  t.equal(names().length, 1);
});

t.test('a suspended cron job starts nothing, and the last missed start afterwards', async (t) => {
  const { harness, start, names, change } = setUp(t, { suspend: true });
  await start();
  await harness.advance(5 * minuteMs);
  t.same(names(), []);
  await change((object) => {
    object.spec.suspend = false;
  });
  t.equal(names().length, 1);
});
