/** What follows a clock that is moved by hand: one cluster with two nodes, and a namespace for each case. */
import t, { type Test } from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import { cronjobs, jobs } from '#api/batch/v1/resources.gen.js';
import { events, namespaces, nodes, pods, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { formatTime, parseTime, realClock } from '#apimachinery/clock.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import type { ClockState } from '#testcluster/clock/feature.js';
import { startTestCluster } from '#testcluster/start-test-cluster.js';

t.setTimeout(180_000);
const clock = new ManualClock({ startMs: Date.UTC(2030, 0, 1), process: realClock });
const started = await startTestCluster({ nodes: 2, port: 0, clock });
t.teardown(() => started.close());
const { client } = started.cluster;

const post = <R>(path: string, body: object): Promise<R> => client.request('POST', path, body);

/** Moves the clock, and requires that the cluster comes to rest at each stop. */
async function advance(t: Test, duration: string): Promise<void> {
  const { settled, remaining } = await post<ClockState>('/test/clock', { advance: duration });
  t.same(settled, { settled: true, unfinished: [] }, `at rest after ${duration}`);
  if (remaining !== undefined) await advance(t, remaining);
}

async function settle(t: Test): Promise<void> {
  t.same(await post('/test/settle', {}), { settled: true, unfinished: [] }, 'at rest');
}

async function namespaceOf(t: Test, name: string): Promise<string> {
  await client.resource(namespaces).create({ metadata: { name }, spec: {} });
  await settle(t);
  return name;
}

/** A pod with one container; `behaviour` by name: `exit-after: 5s`. */
function template(behaviour: Record<string, string> = {}, labels: Record<string, string> = {}): PodTemplateSpec {
  const { simulationPrefix } = client.dialect;
  const annotations = Object.fromEntries(
    Object.entries(behaviour).map(([name, value]) => [`${simulationPrefix}${name}`, value]),
  );
  return { metadata: { annotations, labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
}

function once(behaviour: Record<string, string>): PodTemplateSpec {
  const { metadata, spec } = template(behaviour);
  return {
    ...(metadata === undefined ? {} : { metadata }),
    spec: { ...spec, containers: spec?.containers ?? [], restartPolicy: 'Never' },
  };
}

t.test('the clock stands still, and moves as told', async (t) => {
  const before = await client.request<ClockState>('GET', '/test/clock');
  t.equal(before.manual, true);
  t.match(before.now, /^2030-01-01T00:00:\d\d\.000000Z$/, 'at a whole second');
  await realClock.sleep(0);
  t.equal((await client.request<ClockState>('GET', '/test/clock')).now, before.now);
  const set = '2030-01-01T01:00:00Z';
  t.equal((await post<ClockState>('/test/clock', { set })).now, '2030-01-01T01:00:00.000000Z');
  const name = await namespaceOf(t, 'dated');
  const { metadata } = await client.resource(namespaces).get(name);
  t.equal(metadata.creationTimestamp, set, 'objects have its time');
  const refused: readonly (readonly [object, RegExp])[] = [
    [{ set: '2030-01-01T00:30:00Z' }, /set: the clock cannot go back/],
    [{ set: 'soon' }, /set: must be a time/],
    [{ advance: '-1h' }, /advance: /],
    [{ advance: '1 day' }, /advance: not a duration/],
    [{ advance: '1s', set }, /exactly one of advance and set/],
    [{}, /exactly one of advance and set/],
    [{ forward: '1h' }, /unknown fields: forward/],
    [{ advance: '1h', timeout: '2h' }, /timeout: must be at most/],
    [{ advance: '1h', settle: 'yes' }, /settle: must be true or false/],
  ];
  for (const [body, message] of refused) await t.rejects(post('/test/clock', body), message, JSON.stringify(body));
});

t.test('a nightly cron job runs on each of thirty days', async (t) => {
  const namespace = await namespaceOf(t, 'nightly');
  await client.resource(cronjobs).create({
    metadata: { name: 'nightly', namespace },
    spec: {
      schedule: '30 3 * * *',
      successfulJobsHistoryLimit: 100,
      jobTemplate: { spec: { template: once({ 'exit-after': '10m' }) } },
    },
  });
  await advance(t, '720h');
  const { items } = await client.resource(jobs).list({ namespace });
  t.equal(items.length, 30);
  const times = items.map(({ status }) => [status?.startTime, status?.completionTime, status?.succeeded]);
  t.same(
    times.sort(),
    Array.from({ length: 30 }, (_, day) => {
      const startMs = Date.UTC(2030, 0, 1 + day, 3, 30);
      return [formatTime(startMs), formatTime(startMs + 600_000), 1];
    }),
    'each at its time, for ten minutes',
  );
});

t.test('finished jobs and old events go after their time', async (t) => {
  const namespace = await namespaceOf(t, 'leaving');
  await client.resource(jobs).create({
    metadata: { name: 'short', namespace },
    spec: { ttlSecondsAfterFinished: 3600, template: once({ 'exit-after': '1s' }) },
  });
  await advance(t, '59m');
  t.equal((await client.resource(jobs).get('short', { namespace })).status?.succeeded, 1);
  t.not((await client.resource(events).list({ namespace })).items.length, 0);
  await advance(t, '2m');
  await t.rejects(client.resource(jobs).get('short', { namespace }), /not found/);
  t.same((await client.resource(pods).list({ namespace })).items, [], 'with its pods');
  await advance(t, '1h');
  t.same((await client.resource(events).list({ namespace })).items, [], 'events last for an hour');
});

t.test('a failing job backs off, and a job ends at its deadline', async (t) => {
  const namespace = await namespaceOf(t, 'failing');
  await client.resource(jobs).create({
    metadata: { name: 'failing', namespace },
    spec: { backoffLimit: 3, template: once({ 'exit-after': '1s', 'exit-code': '1' }) },
  });
  await client.resource(jobs).create({
    metadata: { name: 'endless', namespace },
    spec: { activeDeadlineSeconds: 600, template: once({ 'exit-after': 'never' }) },
  });
  const failing = async (name: string) => (await client.resource(jobs).get(name, { namespace })).status;
  await advance(t, '35s');
  t.match(await failing('failing'), { failed: 3 }, 'after 10 and 20 seconds');
  await advance(t, '5m');
  const status = await failing('failing');
  t.match(status, { failed: 4, conditions: [{ type: 'Failed', reason: 'BackoffLimitExceeded' }] });
  t.match(await failing('endless'), { active: 1 });
  await advance(t, '5m');
  t.match(await failing('endless'), { conditions: [{ type: 'Failed', reason: 'DeadlineExceeded' }] });
});

t.test('a rollout without progress fails at its deadline', async (t) => {
  const namespace = await namespaceOf(t, 'stuck');
  const labels = { app: 'stuck' };
  await client.resource(deployments).create({
    metadata: { name: 'stuck', namespace },
    spec: {
      progressDeadlineSeconds: 120,
      selector: { matchLabels: labels },
      template: template({ 'pull-failure': 'no such image' }, labels),
    },
  });
  const progressing = async () => {
    const { status } = await client.resource(deployments).get('stuck', { namespace });
    return status?.conditions?.find(({ type }) => type === 'Progressing');
  };
  await advance(t, '119s');
  t.match(await progressing(), { status: 'True' });
  await advance(t, '2s');
  t.match(await progressing(), { status: 'False', reason: 'ProgressDeadlineExceeded' });
});

t.test('tokens expire', async (t) => {
  const namespace = await namespaceOf(t, 'tokens');
  const { status } = await client.request<{ status: { token: string; expirationTimestamp: string } }>(
    'POST',
    `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`,
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
  );
  t.equal(parseTime(status.expirationTimestamp), clock.now() + 3_600_000);
  const review = async () => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: status.token } };
    const path = '/apis/authentication.k8s.io/v1/tokenreviews';
    return (await client.request<{ status: { authenticated?: boolean } }>('POST', path, body)).status.authenticated;
  };
  t.equal(await review(), true);
  await advance(t, '59m');
  t.equal(await review(), true);
  await advance(t, '2m');
  t.not(await review(), true, 'an hour later');
  t.ok(await client.resource(serviceaccounts).get('default', { namespace }));
});

t.test('an autoscaler follows the load, and waits for its window before it scales down', async (t) => {
  const namespace = await namespaceOf(t, 'scaled');
  const labels = { app: 'busy' };
  const { metadata, spec } = template({ 'cpu-shared': '0s=290m, 10m=290m, 10m=10m' }, labels);
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '100m' } } }];
  await client.resource(deployments).create({
    metadata: { name: 'busy', namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { ...(metadata && { metadata }), spec: { ...spec, containers } },
    },
  });
  await client.resource(horizontalpodautoscalers).create({
    metadata: { name: 'busy', namespace },
    spec: {
      minReplicas: 1,
      maxReplicas: 8,
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'busy' },
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
      ],
    },
  });
  const replicas = async () => (await client.resource(deployments).get('busy', { namespace })).spec.replicas;
  t.equal(await replicas(), 1);
  await advance(t, '5m');
  t.equal(await replicas(), 6, '290m of CPU at 50m each');
  await advance(t, '9m');
  t.equal(await replicas(), 6, 'four minutes after the load has gone');
  await advance(t, '3m');
  t.equal(await replicas(), 1, 'after the window of five minutes');
  await client.resource(horizontalpodautoscalers).delete('busy', { namespace });
});

t.test('a node that stops is noticed, and its pods are evicted in time', async (t) => {
  const namespace = await namespaceOf(t, 'evicted');
  const labels = { app: 'spread' };
  await client.resource(deployments).create({
    metadata: { name: 'spread', namespace },
    spec: { replicas: 4, selector: { matchLabels: labels }, template: template({}, labels) },
  });
  await settle(t);
  const placed = async () => {
    const { items } = await client.resource(pods).list({ namespace });
    const left = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return left.map(({ spec }) => spec.nodeName ?? '').sort();
  };
  t.same(await placed(), ['node-0', 'node-0', 'node-1', 'node-1']);
  const ready = async () => {
    const { status } = await client.resource(nodes).get('node-1');
    return status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  };
  await started.cluster.stopNode('node-1');
  await advance(t, '29s');
  t.equal(await ready(), 'True');
  await advance(t, '12s');
  t.equal(await ready(), 'Unknown', 'after the grace period of forty seconds');
  await advance(t, '4m30s');
  t.same(await placed(), ['node-0', 'node-0', 'node-1', 'node-1'], 'the toleration lasts for five minutes');
  await advance(t, '1m');
  t.same(await placed(), ['node-0', 'node-0', 'node-0', 'node-0']);
});
