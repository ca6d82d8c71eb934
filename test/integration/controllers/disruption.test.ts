/** Disruption budgets and evictions against a real API server. */
import t from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { namespaces, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { hasReason, isConflict, isNotFound, statusOf } from '#apimachinery/errors/status.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { Client } from '#client/client.js';
import { runPods, startCluster, until } from '#test/integration/controllers/cluster.js';

const namespace = 'shop';
const labels = { app: 'web' };
const dialect = orchDialect;

async function setUp(client: Client) {
  await client.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
  const budget = () => client.resource(poddisruptionbudgets).get('b', { namespace });
  const podsNow = async () => (await client.resource(pods).list({ namespace })).items;
  const evict = (name: string) => {
    const body = { apiVersion: dialect.apiVersion('policy', 'v1'), kind: 'Eviction', metadata: { name, namespace } };
    return client.resource(pods).createSubresource(name, 'eviction', body, { namespace });
  };
  return { budget, podsNow, evict };
}

t.setTimeout(180_000);

const ready = (pod: Pod) =>
  pod.metadata.deletionTimestamp === undefined &&
  (pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false);

t.test('concurrent evictions never violate a budget', async (t) => {
  const seed = 20_220_503;
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  const client = await startCluster(t, { dialect });
  const { budget, podsNow, evict } = await setUp(client);
  runPods(t, client, { startMs: 50 });
  await client.resource(deployments).create({
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 8,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'sleeps' }] } },
    },
  });
  await client
    .resource(poddisruptionbudgets)
    .create({ metadata: { name: 'b', namespace }, spec: { selector: { matchLabels: labels }, maxUnavailable: '25%' } });
  await until(
    'all are healthy',
    budget,
    ({ status }) => status?.currentHealthy === 8 && status.disruptionsAllowed === 2,
  );
  const healthy = new Set((await podsNow()).filter(ready).map(({ metadata }) => metadata.uid ?? ''));
  let fewest = healthy.size;
  const stop = new AbortController();
  const watching = (async () => {
    for await (const { type, object } of client.resource(pods).watch({ namespace, signal: stop.signal })) {
      if (type === 'BOOKMARK') continue;
      const uid = object.metadata.uid ?? '';
      if (type === 'DELETED' || !ready(object)) healthy.delete(uid);
      else healthy.add(uid);
      fewest = Math.min(fewest, healthy.size);
    }
  })();
  let granted = 0;
  let refused = 0;
  const drain = async () => {
    for (let i = 0; i < 25 || granted <= 2 || refused === 0; i += 1) {
      const all = await podsNow();
      const victim = all[Math.floor(random() * all.length)];
      try {
        await evict(victim?.metadata.name ?? '');
        granted += 1;
      } catch (error) {
        if (hasReason(error, 'TooManyRequests')) refused += 1;
        else if (!isNotFound(error) && !isConflict(error)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: 6 }, drain));
  stop.abort();
  await watching;
  t.ok(granted > 2, `${granted} were granted`);
  t.ok(refused > 0, `${refused} were refused`);
  t.ok(fewest >= 6, `never fewer than ${fewest} of 8 were healthy`);
  await until('healthy again', budget, ({ status }) => status?.currentHealthy === 8 && status.disruptionsAllowed === 2);
});

t.test('pods that are not counted', async (t) => {
  const client = await startCluster(t, { dialect });
  const { budget, podsNow, evict } = await setUp(client);
  const add = async (name: string, phase: string, isReady: boolean) => {
    const spec = { containers: [{ name: 'c', image: 'i' }], nodeName: 'n1', terminationGracePeriodSeconds: 0 };
    await client.resource(pods).create({ metadata: { name, namespace, labels }, spec });
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }];
    const patch = { status: { phase, conditions } };
    await client.resource(pods).patch(name, patch, { type: 'merge', namespace, subresource: 'status' });
  };
  await add('healthy', 'Running', true);
  await add('unready', 'Running', false);
  await add('pending', 'Pending', false);
  await add('over', 'Succeeded', false);
  await client
    .resource(poddisruptionbudgets)
    .create({ metadata: { name: 'b', namespace }, spec: { selector: { matchLabels: labels }, minAvailable: 1 } });
  await until('reckoned', budget, ({ status }) => status?.currentHealthy === 1 && status.expectedPods === 4);
  for (const name of ['unready', 'pending', 'over']) await evict(name);
  const refusal = await evict('healthy').catch(statusOf);
  t.match(refusal, { code: 429, details: { causes: [{ reason: 'DisruptionBudget' }] } });
  t.match(
    (await podsNow()).map(({ metadata }) => metadata.name),
    ['healthy'],
  );
});
