import t, { type Test } from 'tap';
import { jobs } from '#api/batch/v1/resources.gen.js';
import type { Job, JobSpec } from '#api/batch/v1/types.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { forbidden, internalError, serviceUnavailable } from '#apimachinery/errors/status.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { JobController } from '#controllers/job/controller.js';

const labels = { 'controller-uid': 'x' };
const mark = 'batch.orch.io/job-tracking';
const indexOf = (pod: Pod) => pod.metadata.annotations?.['batch.orch.io/job-completion-index'];

function job(spec: Partial<JobSpec>, tracked: boolean): Job {
  return {
    metadata: { name: 'work', namespace: 'default', ...(tracked ? { annotations: { [mark]: '' } } : {}) },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
      ...spec,
    },
  };
}

interface SetUp {
  readonly tracked?: boolean;
  /** The feature gate, if it differs from the job's annotation. */
  readonly gate?: boolean;
}

function setUp(t: Test, spec: Partial<JobSpec> = {}, { tracked = true, gate = tracked }: SetUp = {}) {
  const harness = new Harness(t, [jobs, pods]);
  const { api, clock } = harness;
  api.seed(jobs, job(spec, tracked));
  const start = () =>
    harness.start(new JobController(harness.context, { concurrency: 2, trackWithFinalizers: gate, readyPods: true }));
  const read = () => api.get(jobs, 'default/work');
  const status = () => read()?.status;
  const condition = (type: string) => status()?.conditions?.find((each) => each.type === type);
  const live = () =>
    api
      .list(pods)
      .filter(
        ({ metadata, status: { phase } = {} }) =>
          metadata.deletionTimestamp === undefined && phase !== 'Succeeded' && phase !== 'Failed',
      );
  const end = async (pod: Pod | undefined, phase: 'Succeeded' | 'Failed') => {
    api.change<Pod>(pods, `default/${pod?.metadata.name}`, (each) => {
      const terminated = { exitCode: phase === 'Failed' ? 1 : 0, finishedAt: formatTime(clock.now()) };
      const state = { name: 'c', image: 'i', imageID: '', ready: false, restartCount: 0, state: { terminated } };
      each.status = { phase, containerStatuses: [state] };
    });
    await harness.settled();
  };
  const change = async (edit: (object: Draft<Job>) => void) => {
    api.change<Job>(jobs, 'default/work', edit);
    await harness.settled();
  };
  return { harness, api, clock, start, read, status, condition, live, end, change };
}

for (const tracked of [true, false]) {
  const how = tracked ? 'counted by finalizers' : 'counted by existing pods';

  t.test(`a job runs until enough pods have succeeded, ${how}`, async (t) => {
    const { harness, api, start, status, condition, live, end } = setUp(
      t,
      { parallelism: 2, completions: 3 },
      { tracked },
    );
    await start();
    t.equal(live().length, 2);
    t.match(live()[0]?.metadata, {
      generateName: 'work-',
      ownerReferences: [{ kind: 'Job', name: 'work', controller: true, blockOwnerDeletion: true }],
    });
    t.same(live()[0]?.metadata.finalizers, tracked ? [mark] : undefined);
    t.match(status(), { active: 2, ready: 0, startTime: /./ });
    await end(live()[0], 'Succeeded');
    t.match(status(), { active: 2, succeeded: 1 });
    await end(live()[0], 'Succeeded');
    t.equal(live().length, 1, 'only missing pods are created');
    await end(live()[0], 'Succeeded');
    t.match(status(), { active: 0, succeeded: 3, completionTime: /./ });
    t.same(status()?.uncountedTerminatedPods, tracked ? {} : undefined);
    t.match(condition('Complete'), { status: 'True' });
    t.equal(condition('Complete')?.reason, undefined);
    t.match(harness.events.at(-1), 'Normal Completed work: Job completed');
    t.equal(harness.events.filter((event) => event.includes('SuccessfulCreate')).length, 3);
    for (const pod of api.list(pods)) t.same(pod.metadata.finalizers ?? [], []);
    api.takeWrites();
    await harness.advance(3_600_000);
    t.same(api.takeWrites(), []);
  });

  t.test(`failed pods are replaced with growing delays, ${how}`, async (t) => {
    const { harness, start, status, condition, live, end } = setUp(t, { backoffLimit: 2 }, { tracked });
    await start();
    await end(live()[0], 'Failed');
    t.match(status(), { active: 0, failed: 1 });
    await harness.advance(9000);
    t.equal(live().length, 0);
    await harness.advance(1500);
    t.equal(live().length, 1);
    await end(live()[0], 'Failed');
    await harness.advance(19_000);
    t.equal(live().length, 0);
    await harness.advance(1500);
    await end(live()[0], 'Failed');
    t.match(condition('Failed'), {
      status: 'True',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    });
    t.equal(status()?.failed, 3);
    t.match(harness.events.at(-1), 'Warning BackoffLimitExceeded work: Job has reached the specified backoff limit');
    await harness.advance(3_600_000);
    t.equal(live().length, 0);
  });

  t.test(`a job fails at its deadline, ${how}`, async (t) => {
    const { harness, api, start, status, condition, live } = setUp(
      t,
      { parallelism: 2, completions: 2, activeDeadlineSeconds: 30 },
      { tracked },
    );
    await start();
    await harness.advance(29_000);
    t.equal(live().length, 2);
    await harness.advance(2000);
    t.match(condition('Failed'), {
      reason: 'DeadlineExceeded',
      message: 'Job was active longer than specified deadline',
    });
    t.match(status(), { active: 0, failed: 2 });
    t.equal(api.list(pods).length, 0, 'no finalizer keeps the pods');
  });

  t.test(`indexes, ${how}`, async (t) => {
    const { harness, start, status, condition, live, end } = setUp(
      t,
      { completionMode: 'Indexed', parallelism: 3, completions: 5 },
      { tracked },
    );
    await start();
    t.same(live().map(indexOf), ['0', '1', '2']);
    const [first, second, third] = live();
    t.match(first, { metadata: { generateName: 'work-0-' }, spec: { hostname: 'work-0' } });
    t.match(first?.spec.containers[0]?.env, [
      {
        name: 'JOB_COMPLETION_INDEX',
        valueFrom: { fieldRef: { fieldPath: "metadata.annotations['batch.orch.io/job-completion-index']" } },
      },
    ]);
    await end(third, 'Succeeded');
    await end(first, 'Succeeded');
    t.equal(status()?.completedIndexes, '0,2');
    t.same(live().map(indexOf), ['1', '3', '4']);
    await end(second, 'Failed');
    await harness.advance(11_000);
    t.same(live().map(indexOf).sort(), ['1', '3', '4'], 'the failed index is retried');
    for (const pod of live()) await end(pod, 'Succeeded');
    t.match(status(), { completedIndexes: '0-4', succeeded: 5, failed: 1 });
    t.ok(condition('Complete'));
  });

  t.test(`suspended and resumed, ${how}`, async (t) => {
    const { harness, clock, api, start, status, condition, live, change } = setUp(
      t,
      { suspend: true, activeDeadlineSeconds: 60 },
      { tracked },
    );
    await start();
    t.equal(live().length, 0);
    t.equal(status()?.startTime, undefined);
    t.match(condition('Suspended'), { status: 'True', reason: 'JobSuspended', message: 'Job suspended' });
    await change((object) => {
      object.spec.suspend = false;
    });
    t.equal(live().length, 1);
    t.match(condition('Suspended'), { status: 'False', reason: 'JobResumed', message: 'Job resumed' });
    await change((object) => {
      object.spec.suspend = true;
    });
    t.equal(api.list(pods).length, 0);
    t.equal(status()?.failed ?? 0, 0, 'suspension is not a failure');
    await harness.advance(100_000);
    t.equal(condition('Failed'), undefined, 'the deadline pauses');
    await change((object) => {
      object.spec.suspend = false;
    });
    t.equal(status()?.startTime, formatTime(clock.now()), 'the start time is reset');
    t.equal(condition('Failed'), undefined);
    t.same(
      harness.events.filter((event) => /Suspended|Resumed/.test(event)),
      [
        'Normal Suspended work: Job suspended',
        'Normal Resumed work: Job resumed',
        'Normal Suspended work: Job suspended',
        'Normal Resumed work: Job resumed',
      ],
    );
  });
}

t.test('without a number of completions, the first success is enough', async (t) => {
  const { api, start, status, condition, live, end } = setUp(t, { parallelism: 3 });
  api.change<Job>(jobs, 'default/work', (object) => {
    delete object.spec.completions;
  });
  await start();
  const [first, second, third] = live();
  await end(first, 'Succeeded');
  t.equal(live().length, 2, 'the other pods continue, and none is added');
  await end(second, 'Failed');
  t.equal(condition('Complete'), undefined);
  await end(third, 'Succeeded');
  t.match(status(), { succeeded: 2, failed: 1, active: 0 });
  t.ok(condition('Complete'));
});

t.test('container restarts count against the backoff limit', async (t) => {
  const spec = { restartPolicy: 'OnFailure', containers: [{ name: 'c', image: 'i' }] };
  const { harness, api, start, condition, live } = setUp(t, {
    backoffLimit: 3,
    template: { metadata: { labels }, spec },
  });
  await start();
  const restart = async (restartCount: number) => {
    api.change<Pod>(pods, `default/${live()[0]?.metadata.name}`, (pod) => {
      pod.status = {
        phase: 'Running',
        containerStatuses: [{ name: 'c', image: 'i', imageID: '', ready: true, restartCount }],
      };
    });
    await harness.settled();
  };
  await restart(2);
  t.equal(condition('Failed'), undefined);
  await restart(3);
  t.match(condition('Failed'), { reason: 'BackoffLimitExceeded' });
});

t.test('pods deleted by lower parallelism are not failures', async (t) => {
  const { start, status, live, change } = setUp(t, { parallelism: 4, completions: 10 });
  await start();
  t.equal(live().length, 4);
  await change((object) => {
    object.spec.parallelism = 1;
  });
  t.equal(live().length, 1);
  t.match(status(), { active: 1 });
  t.equal(status()?.failed ?? 0, 0);
});

t.test('a pod deleted by a user counts as failed, and is replaced', async (t) => {
  const { harness, api, start, status, live } = setUp(t);
  await start();
  await harness.context.client.resource(pods).delete(live()[0]?.metadata.name ?? '', { namespace: 'default' });
  await harness.settled();
  t.equal(status()?.failed, 1);
  t.equal(live().length, 1);
  t.equal(api.list(pods).length, 1, 'the deleted pod is removed');
});

t.test('orphans are adopted with the finalizer, and released pods lose it', async (t) => {
  const { harness, api, start, live } = setUp(t, { parallelism: 2, completions: 2 });
  api.seed<Pod>(pods, { metadata: { name: 'orphan', namespace: 'default', labels }, spec: { containers: [] } });
  await start();
  t.match(api.get(pods, 'default/orphan')?.metadata, { finalizers: [mark], ownerReferences: [{ controller: true }] });
  t.equal(live().length, 2);
  api.change<Pod>(pods, 'default/orphan', (pod) => {
    pod.metadata.labels = { app: 'other' };
  });
  await harness.settled();
  const { finalizers = [], ownerReferences = [] } = api.get(pods, 'default/orphan')?.metadata ?? {};
  t.same([finalizers, ownerReferences], [[], []]);
});

t.test('pods of a deleted job lose the finalizer', async (t) => {
  const { harness, api, start } = setUp(t);
  await start();
  t.same(api.list(pods)[0]?.metadata.finalizers, [mark]);
  api.remove(jobs, 'default/work');
  await harness.settled();
  t.same(api.list(pods)[0]?.metadata.finalizers ?? [], []);
});

t.test('a job whose feature was disabled is counted without finalizers', async (t) => {
  const { api, start, read, status, live, end } = setUp(t, {}, { tracked: true, gate: false });
  const owner = read();
  api.seed<Pod>(pods, {
    metadata: {
      name: 'old',
      namespace: 'default',
      labels,
      finalizers: [mark],
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'Job', name: 'work', uid: owner?.metadata.uid ?? '', controller: true },
      ],
    },
    spec: { containers: [] },
  });
  await start();
  t.same(read()?.metadata.annotations ?? {}, {});
  t.same(live()[0]?.metadata.finalizers ?? [], []);
  await end(live()[0], 'Succeeded');
  t.match(status(), { succeeded: 1, completionTime: /./ });
  t.equal(status()?.uncountedTerminatedPods, undefined);
});

t.test('failed creations are retried and recorded', async (t) => {
  const { harness, api, start, live } = setUp(t, { parallelism: 8, completions: 8 });
  const heal = harness.fail(
    (call) => call.verb === 'create' && call.resource === 'pods',
    forbidden({ group: '', resource: 'pods' }, 'x', 'quota'),
  );
  await start();
  t.match(harness.events[0], /^Warning FailedCreate work: Error creating: /);
  t.ok(api.calls.filter(({ verb }) => verb === 'create').length < 8, 'slow start tries few');
  heal();
  await harness.advance(60_000);
  t.equal(live().length, 8);
});

t.test('a pod whose finalizer cannot be removed yet is counted later', async (t) => {
  const { harness, api, start, status, condition, live, end } = setUp(t);
  await start();
  const heal = harness.fail(
    (call) => call.verb === 'patch' && call.resource === 'pods',
    internalError(new Error('no')),
  );
  const [pod] = live();
  await end(pod, 'Succeeded');
  t.same(status()?.uncountedTerminatedPods, { succeeded: [pod?.metadata.uid] });
  t.equal(status()?.succeeded ?? 0, 0);
  t.equal(condition('Complete'), undefined);
  heal();
  await harness.advance(10_000);
  t.match(status(), { succeeded: 1 });
  t.ok(condition('Complete'));
  t.same(api.list(pods)[0]?.metadata.finalizers ?? [], []);
});

t.test('a cache from a lagging server causes no double counting', async (t) => {
  const { harness, api, start, read, status } = setUp(t, { completions: 2 });
  const uid = read()?.metadata.uid ?? '';
  const reference = { apiVersion: 'batch/v1', kind: 'Job', name: 'work', uid, controller: true };
  const stale: Pod = {
    metadata: { name: 'a', namespace: 'default', labels, finalizers: [mark], ownerReferences: [reference] },
    spec: { containers: [] },
    status: { phase: 'Succeeded' },
  };
  const seen = api.seed<Pod>(pods, stale);
  // An earlier leader has counted the pod; this controller's first list shows an older version.
  api.change<Pod>(pods, 'default/a', (pod) => {
    delete pod.metadata.finalizers;
  });
  api.change<Job>(jobs, 'default/work', (object) => {
    object.status = { succeeded: 1, uncountedTerminatedPods: {}, startTime: '2022-05-03T00:00:00Z' };
  });
  api.streamsInitialState = false;
  let lists = 0;
  const heal = api.intercept((call) => {
    if (call.resource !== 'pods') return undefined;
    if (call.verb === 'watch') return serviceUnavailable('cut off');
    if (call.verb !== 'list' || call.namespace !== undefined || lists++ > 0) return undefined;
    return {
      apiVersion: 'v1',
      kind: 'PodList',
      metadata: { resourceVersion: seen.metadata.resourceVersion },
      items: [seen],
    };
  });
  await start();
  heal();
  await harness.advance(60_000);
  t.equal(status()?.succeeded, 1);
});
