/** After `settle` nothing changes any more, whatever was written before; and it tells what hinders it. */
import t from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { jobs } from '#api/batch/v1/resources.gen.js';
import { configmaps, namespaces, pods, services } from '#api/core/v1/resources.gen.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { realClock } from '#apimachinery/clock.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import type { TestFeatureFactory } from '#testcluster/feature/feature.js';
import { features } from '#testcluster/features.js';
import type { Settled } from '#testcluster/settle/settle.js';
import { startTestCluster } from '#testcluster/start-test-cluster.js';

t.setTimeout(180_000);
const seed = Number(process.env['SETTLE_SEED'] ?? 40);
const rounds = Number(process.env['SETTLE_ROUNDS'] ?? 6);

/** Holds back the requests that `holds` chooses, until it is released. */
let holds: ((resource: string, verb: string) => boolean) | undefined;
let released = deferred();
const holding: TestFeatureFactory = () => ({
  async around({ info }, next) {
    if (holds?.(info.resource, info.verb) === true) await released.promise;
    return next();
  },
});

const clock = new ManualClock({ startMs: Date.UTC(2030, 0, 1), process: realClock });
const started = await startTestCluster({ nodes: 2, port: 0, clock, features: [...features, holding] });
t.teardown(() => started.close());
const { client } = started.cluster;
const settle = (timeout = '30s') => client.request<Settled>('POST', '/test/settle', { timeout });
const rest = { settled: true, unfinished: [] };

/** The store's newest version. */
async function version(): Promise<string | undefined> {
  return (await client.resource(configmaps).list({ limit: 1 })).metadata?.resourceVersion;
}

t.test('what is created at once is complete after settle', async (t) => {
  await client.resource(namespaces).create({ metadata: { name: 'fresh' }, spec: {} });
  const labels = { app: 'web' };
  // Its pods need the namespace's service account, which does not exist yet: their creation is tried again.
  await client.resource(deployments).create({
    metadata: { name: 'web', namespace: 'fresh' },
    spec: {
      replicas: 5,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
  });
  const before = clock.now();
  t.same(await settle(), rest);
  const { status } = await client.resource(deployments).get('web', { namespace: 'fresh' });
  t.match(status, { availableReplicas: 5, updatedReplicas: 5, observedGeneration: 1 });
  t.equal(clock.now(), before, 'no time has passed');
  await client.resource(namespaces).delete('fresh');
  t.same(await settle(), rest);
  await t.rejects(client.resource(namespaces).get('fresh'), /not found/, 'pods that obey at once go at once');
});

t.test('after random changes, a second settle finds the same world', async (t) => {
  t.comment(`seed ${seed}`);
  let state = seed;
  const random = (n: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % n;
  };
  const namespace = 'default';
  const tolerant = async (work: Promise<unknown>) => {
    await work.catch((error: unknown) => {
      if (!isConflict(error) && !isNotFound(error) && !/already exists/.test(String(error))) throw error;
    });
  };
  const changes: readonly ((name: string) => Promise<unknown>)[] = [
    (name) =>
      client.resource(deployments).create({
        metadata: { name, namespace },
        spec: {
          replicas: random(5),
          selector: { matchLabels: { name } },
          template: { metadata: { labels: { name } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      }),
    (name) => client.resource(deployments).patch(name, { spec: { replicas: random(5) } }, { type: 'merge', namespace }),
    (name) =>
      client
        .resource(deployments)
        .patch(
          name,
          { spec: { template: { metadata: { labels: { name, v: `${random(9)}` } } } } },
          { type: 'merge', namespace },
        ),
    (name) => client.resource(deployments).delete(name, { namespace }),
    (name) =>
      client.resource(services).create({
        metadata: { name, namespace },
        spec: { selector: { name }, ports: [{ port: 80 }] },
      }),
    (name) => client.resource(services).delete(name, { namespace }),
    (name) =>
      client.resource(jobs).create({
        metadata: { name, namespace },
        spec: {
          template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i', command: ['true'] }] } },
        },
      }),
    (name) => client.resource(jobs).delete(name, { namespace, propagationPolicy: 'Background' }),
    (name) => client.resource(configmaps).create({ metadata: { name, namespace, finalizers: ['example.com/hold'] } }),
    (name) => client.resource(configmaps).delete(name, { namespace }),
  ];
  let different = 0;
  for (let round = 0; round < rounds; round += 1) {
    const count = 1 + random(20);
    await Promise.all(
      Array.from({ length: count }, () =>
        tolerant(changes[random(changes.length)]?.(`n${random(6)}`) ?? Promise.resolve()),
      ),
    );
    t.same(await settle(), rest, `round ${round}: at rest`);
    const before = await version();
    // Real time in which something could still happen; nothing depends on how much it is.
    await realClock.sleep(50);
    t.same(await settle(), rest);
    if ((await version()) !== before) different += 1;
  }
  t.equal(different, 0, 'rounds after which something changed');
  const { items } = await client.resource(deployments).list({ namespace });
  for (const { metadata, spec, status } of items) {
    t.equal(status?.observedGeneration, metadata.generation, `${metadata.name} is observed`);
    t.equal(status?.availableReplicas ?? 0, spec.replicas, `${metadata.name} is available`);
  }
  const all = await client.resource(pods).list({ namespace });
  t.ok(
    all.items.every(({ status }) => status?.phase === 'Running' || status?.phase === 'Succeeded'),
    'every pod runs',
  );
});

t.test('settle tells what it waits for', async (t) => {
  released = deferred();
  holds = (resource, verb) => resource === 'endpointslices' && verb === 'create';
  t.teardown(() => {
    holds = undefined;
    released.resolve();
  });
  const spec = { selector: { app: 'a' }, ports: [{ port: 80 }] };
  await client.resource(services).create({ metadata: { name: 'held', namespace: 'default' }, spec });
  const { settled, unfinished } = await settle('100ms');
  t.equal(settled, false);
  t.match(unfinished.find(({ name }) => name === 'requests')?.items, [/create \/apis\/discovery/], 'the request');
  const queue = unfinished.find(({ name, items }) => name.startsWith('queue ') && items.includes('default/held'));
  t.ok(queue, `the queue: ${JSON.stringify(unfinished)}`);
  holds = undefined;
  released.resolve();
  t.same(await settle(), rest);
});

t.test('malformed requests are refused', async (t) => {
  const refused: readonly (readonly [unknown, RegExp])[] = [
    [{ timeout: 5 }, /timeout: must be a positive duration/],
    [{ timeout: '2h' }, /timeout: must be at most/],
    [{ until: '5s' }, /unknown fields: until; known: timeout/],
    [[], /the body must be a JSON object/],
  ];
  for (const [body, message] of refused)
    await t.rejects(client.request('POST', '/test/settle', body), message, JSON.stringify(body));
});
