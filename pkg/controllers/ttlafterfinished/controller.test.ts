import t, { type Test } from 'tap';
import { jobs } from '#api/batch/v1/resources.gen.js';
import type { Job } from '#api/batch/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { conflict } from '#apimachinery/errors/status.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { expiryMs, TTLAfterFinishedController } from '#controllers/ttlafterfinished/controller.js';

const nowMs = Date.parse('2022-05-03T00:00:00Z');

function job(
  ttl: number | undefined,
  type: string | undefined,
  since: string | undefined = formatTime(nowMs),
): Draft<Job> {
  const condition = { type: type ?? '', status: 'True', ...(since === '' ? {} : { lastTransitionTime: since }) };
  return {
    metadata: { name: 'work', namespace: 'default' },
    spec: { template: {}, ...(ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl }) },
    status: type === undefined ? {} : { conditions: [{ type: 'Suspended', status: 'False' }, condition] },
  };
}

t.test('jobs expire a time after they finished', (t) => {
  const rows: [name: string, given: Job, expiry: number | undefined][] = [
    ['without TTL', job(undefined, 'Complete'), undefined],
    ['not finished', job(10, undefined), undefined],
    ['complete', job(10, 'Complete'), nowMs + 10_000],
    ['failed', job(0, 'Failed'), nowMs],
    ['suspended', job(10, 'Suspended'), undefined],
  ];
  for (const [name, given, expiry] of rows) t.equal(expiryMs(given), expiry, name);
  const going = job(10, 'Complete');
  going.metadata.deletionTimestamp = formatTime(nowMs);
  t.equal(expiryMs(going), undefined, 'the job is already in deletion');
  t.throws(() => expiryMs(job(10, 'Complete', '')), /unable to find the time when the Job default\/work finished/);
  t.end();
});

function setUp(t: Test, given: Job) {
  const harness = new Harness(t, [jobs]);
  harness.api.seed(jobs, given);
  const start = () => harness.start(new TTLAfterFinishedController(harness.context, { concurrency: 5 }));
  return { harness, api: harness.api, start, there: () => harness.api.get(jobs, 'default/work') !== undefined };
}

t.test('a job is deleted when its TTL has passed', async (t) => {
  const { harness, api, start, there } = setUp(t, job(60, 'Complete'));
  await start();
  await harness.advance(59_000);
  t.ok(there());
  await harness.advance(2000);
  t.notOk(there());
  t.match(api.calls.find(({ verb }) => verb === 'delete')?.body, {
    propagationPolicy: 'Foreground',
    preconditions: { uid: /./, resourceVersion: /./ },
  });
});

t.test('an extension before the deletion counts', async (t) => {
  const { harness, api, start, there } = setUp(t, job(60, 'Complete'));
  await start();
  const thaw = harness.freeze('jobs');
  api.change<Job>(jobs, 'default/work', (object) => {
    object.spec.ttlSecondsAfterFinished = 600;
  });
  // Only watches are disconnected; gets succeed.
  await harness.advance(120_000);
  t.ok(there());
  thaw();
  await harness.advance(500_000);
  t.notOk(there());
});

t.test('a job that changes during the deletion is reconciled again', async (t) => {
  const { harness, api, start, there } = setUp(t, job(1, 'Failed'));
  let refused = 0;
  const heal = api.intercept(({ verb }) => {
    if (verb !== 'delete') return undefined;
    refused += 1;
    return conflict({ group: 'batch', resource: 'jobs' }, 'work', 'changed');
  });
  await start();
  await harness.advance(2000);
  t.ok(there() && refused > 0);
  heal();
  await harness.advance(60_000);
  t.notOk(there());
});
