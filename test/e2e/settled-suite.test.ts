/**
 * A suite as an operator's team would write it, with `settle` and without one sleep: each test has its namespace, a
 * deployment, a job, a cron job over thirty days, and deletion with finalizers and garbage collection; the tests run in a
 * random order on one cluster.
 *
 *     SUITE_TESTS=200 SUITE_ORDERS=20 SUITE_SEED=1 node dist/test/e2e/settled-suite.test.js
 */
import t, { type Test } from 'tap';
import { deployments, replicasets } from '#api/apps/v1/resources.gen.js';
import { cronjobs, jobs } from '#api/batch/v1/resources.gen.js';
import { configmaps, namespaces, pods } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import { machineLine } from '#test/bench/report.js';
import { startTestCluster } from '#testcluster/start-test-cluster.js';

const tests = Number(process.env['SUITE_TESTS'] ?? 4);
const orders = Number(process.env['SUITE_ORDERS'] ?? 1);
const seed = Number(process.env['SUITE_SEED'] ?? 40);
const dayMs = 86_400_000;
/** Every ten days. */
const runDays: ReadonlySet<number> = new Set([1, 11, 21, 31]);
const finalizer = 'example.com/hold';

t.setTimeout(3_600_000);
const clock = new ManualClock({ startMs: Date.UTC(2030, 0, 1), process: realClock });
const started = await startTestCluster({ nodes: 3, port: 0, clock });
t.teardown(() => started.close());
const { client } = started.cluster;

async function settle(t: Test): Promise<void> {
  const state = await client.request('POST', '/test/settle', {});
  t.same(state, { settled: true, unfinished: [] }, 'at rest');
}

async function advance(t: Test, duration: string): Promise<void> {
  const { settled, remaining } = await client.request<{ settled: object; remaining?: string }>('POST', '/test/clock', {
    advance: duration,
  });
  t.same(settled, { settled: true, unfinished: [] }, `at rest after ${duration}`);
  if (remaining !== undefined) await advance(t, remaining);
}

async function isGone(read: Promise<unknown>): Promise<boolean> {
  return read.then(
    () => false,
    (error: unknown) => {
      if (isNotFound(error)) return true;
      throw error;
    },
  );
}

const container = { name: 'c', image: 'i' };
const finite = { spec: { restartPolicy: 'Never', containers: [{ ...container, command: ['true'] }] } } as const;

async function test(t: Test, namespace: string): Promise<void> {
  await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
  await checkRollout(t, namespace);
  await checkJob(t, namespace);
  await checkCronJob(t, namespace);
  await checkDeletion(t, namespace);
  await client.resource(namespaces).delete(namespace);
  await settle(t);
  t.ok(await isGone(client.resource(namespaces).get(namespace)), 'the namespace is gone');
}

async function checkRollout(t: Test, namespace: string): Promise<void> {
  const labels = { app: 'web' };
  await client.resource(deployments).create({
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 3,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  });
  await settle(t);
  t.match((await client.resource(deployments).get('web', { namespace })).status, { availableReplicas: 3 });
  const template = { spec: { containers: [{ ...container, image: 'i:2' }] } };
  await client.resource(deployments).patch('web', { spec: { template } }, { type: 'strategic', namespace });
  await settle(t);
  const { status } = await client.resource(deployments).get('web', { namespace });
  t.match(status, { availableReplicas: 3, updatedReplicas: 3, replicas: 3, observedGeneration: 2 }, 'rolled out');
}

async function checkJob(t: Test, namespace: string): Promise<void> {
  await client.resource(jobs).create({
    metadata: { name: 'once', namespace },
    spec: { completions: 2, parallelism: 2, template: finite },
  });
  await advance(t, '10s');
  const { status } = await client.resource(jobs).get('once', { namespace });
  t.match(status, { succeeded: 2, conditions: [{ type: 'Complete' }] }, 'the job is complete');
}

async function checkCronJob(t: Test, namespace: string): Promise<void> {
  await client.resource(cronjobs).create({
    metadata: { name: 'regular', namespace },
    spec: { schedule: '0 0 */10 * *', successfulJobsHistoryLimit: 10, jobTemplate: { spec: { template: finite } } },
  });
  const beginMs = clock.now();
  await advance(t, '720h');
  let expected = 0;
  for (let ms = Math.ceil(beginMs / dayMs) * dayMs; ms <= clock.now(); ms += dayMs)
    if (ms > beginMs && runDays.has(new Date(ms).getUTCDate())) expected += 1;
  const { items } = await client.resource(jobs).list({ namespace });
  const runs = items.filter(({ metadata }) => metadata.name?.startsWith('regular-'));
  t.equal(runs.length, expected, 'a job each ten days');
  t.ok(
    runs.every(({ status }) => status?.succeeded === 1),
    'each of which is complete',
  );
}

async function checkDeletion(t: Test, namespace: string): Promise<void> {
  const maps = client.resource(configmaps);
  const { metadata } = await maps.create({ metadata: { name: 'owner', namespace } });
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: metadata.uid ?? '' };
  const ownerReferences = [owner];
  await maps.create({ metadata: { name: 'free', namespace, ownerReferences } });
  await maps.create({ metadata: { name: 'held', namespace, ownerReferences, finalizers: [finalizer] } });
  await maps.delete('owner', { namespace });
  await client.resource(deployments).delete('web', { namespace, propagationPolicy: 'Foreground' });
  await client.resource(cronjobs).delete('regular', { namespace });
  await settle(t);
  t.ok(await isGone(maps.get('free', { namespace })), 'what it owned is collected');
  t.ok((await maps.get('held', { namespace })).metadata.deletionTimestamp, 'unless a finalizer holds it');
  await maps.patch('held', { metadata: { finalizers: null } }, { type: 'merge', namespace });
  await settle(t);
  t.ok(await isGone(maps.get('held', { namespace })));
  t.same((await client.resource(replicasets).list({ namespace })).items, []);
  const left = (await client.resource(pods).list({ namespace })).items.map(({ metadata }) => metadata.name ?? '');
  t.ok(
    left.every((name) => name.startsWith('once-')),
    `only the job's pods are left: ${left.join(', ')}`,
  );
}

/** The numbers below `count` in a random order. */
function shuffled(count: number, random: (n: number) => number): number[] {
  const order = Array.from({ length: count }, (_, index) => index);
  for (let at = count - 1; at > 0; at -= 1) {
    const other = random(at + 1);
    [order[at], order[other]] = [order[other] ?? 0, order[at] ?? 0];
  }
  return order;
}

let state = seed;
const random = (n: number): number => {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return (state >>> 8) % n;
};

for (let order = 0; order < orders; order += 1) {
  t.test(`order ${order}`, async (t) => {
    t.comment(`seed ${seed}, ${machineLine()}`);
    const before = process.cpuUsage();
    for (const index of shuffled(tests, random)) await test(t, `test-${index}`);
    const { user, system } = process.cpuUsage(before);
    t.comment(`${tests} tests took ${((user + system) / 1e6).toFixed(1)} s of CPU`);
  });
}
