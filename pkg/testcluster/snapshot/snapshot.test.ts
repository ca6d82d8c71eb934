/** A cluster that is set back is the one that was saved, for every client that watched meanwhile. */
import t from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { cronjobs, jobs } from '#api/batch/v1/resources.gen.js';
import { configmaps, events, namespaces, nodes, pods, services } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import type { ApiObject } from '#client/client.js';
import { startTestCluster } from '#testcluster/start-test-cluster.js';

t.setTimeout(180_000);
const namespace = 'default';
const clock = new ManualClock({ startMs: Date.UTC(2030, 0, 1), process: realClock });
const started = await startTestCluster({ nodes: 2, port: 0, clock });
t.teardown(() => started.close());
const { client } = started.cluster;
const post = <R>(path: string, body: object = {}): Promise<R> => client.request('POST', path, body);
const settle = async (t: { same(a: unknown, b: unknown, name: string): unknown }) =>
  t.same(await post('/test/settle'), { settled: true, unfinished: [] }, 'at rest');

const deployment = (name: string, replicas: number) => ({
  metadata: { name, namespace },
  spec: {
    replicas,
    selector: { matchLabels: { name } },
    template: { metadata: { labels: { name } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
});

/** Name, UID and phase of all pods. */
async function podFacts(): Promise<string[]> {
  const { items } = await client.resource(pods).list({ namespace });
  return items.map(({ metadata, status }) => `${metadata.name} ${metadata.uid} ${status?.phase}`).sort();
}

t.test('everything is as it was, and versions only grow', async (t) => {
  await client.resource(deployments).create(deployment('kept', 2));
  await client.resource(services).create({ metadata: { name: 'kept', namespace }, spec: { ports: [{ port: 80 }] } });
  await client.resource(configmaps).create({ metadata: { name: 'kept', namespace }, data: { a: '1' } });
  await settle(t);
  const saved = await post<{ objects: number; time: string }>('/test/snapshots', { save: 'begin' });
  t.ok(saved.objects > 100, `${saved.objects} objects`);
  const before = {
    pods: await podFacts(),
    service: (await client.resource(services).get('kept', { namespace })).spec,
    time: clock.now(),
  };

  const heard: string[] = [];
  const watching = new AbortController();
  const { metadata } = await client.resource(configmaps).list({ namespace });
  const watched = (async () => {
    const since = metadata?.resourceVersion ?? '';
    for await (const { type, object } of client
      .resource(configmaps)
      .watch({ namespace, resourceVersion: since, signal: watching.signal }))
      heard.push(`${type} ${object.metadata.name} ${(object as ApiObject & { data?: { a?: string } }).data?.a ?? ''}`);
  })();

  await client.resource(configmaps).patch('kept', { data: { a: '2' } }, { type: 'merge', namespace });
  await client.resource(configmaps).create({ metadata: { name: 'new', namespace }, data: { a: '3' } });
  await client.resource(deployments).delete('kept', { namespace });
  await client.resource(services).delete('kept', { namespace });
  await client.resource(deployments).create(deployment('other', 3));
  await client.resource(services).create({ metadata: { name: 'other', namespace }, spec: { ports: [{ port: 80 }] } });
  await client.resource(jobs).create({
    metadata: { name: 'done', namespace },
    spec: {
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i', command: ['true'] }] } },
    },
  });
  await client.resource(namespaces).create({ metadata: { name: 'elsewhere' }, spec: {} });
  await post('/test/clock', { advance: '48h' });
  const last = (await client.resource(configmaps).list({ namespace })).metadata?.resourceVersion ?? '0';

  const { changed } = await post<{ changed: number }>('/test/snapshots', { restore: 'begin' });
  t.ok(changed > 10, `${changed} objects changed`);
  await settle(t);
  t.same(await podFacts(), before.pods, 'the same pods run');
  t.same((await client.resource(services).get('kept', { namespace })).spec, before.service);
  t.match(await client.resource(configmaps).get('kept', { namespace }), { data: { a: '1' } });
  for (const missing of [
    client.resource(configmaps).get('new', { namespace }),
    client.resource(deployments).get('other', { namespace }),
    client.resource(services).get('other', { namespace }),
    client.resource(jobs).get('done', { namespace }),
    client.resource(namespaces).get('elsewhere'),
  ])
    await t.rejects(missing, /not found/);
  t.match((await client.resource(deployments).get('kept', { namespace })).status, { availableReplicas: 2 });
  t.equal(clock.now(), before.time, 'the time is the same');
  t.ok(Number((await client.resource(configmaps).get('kept', { namespace })).metadata.resourceVersion) > Number(last));
  watching.abort();
  await watched;
  t.same(heard, ['MODIFIED kept 2', 'ADDED new 3', 'MODIFIED kept 1', 'DELETED new 3'], 'the watch went on');
  const restarts = (await client.resource(pods).list({ namespace })).items.map(
    ({ status }) => status?.containerStatuses?.[0]?.restartCount,
  );
  t.same(restarts, [1, 1], 'their nodes started them again, as after the loss of a disk');
});

t.test('the restored world works: addresses, jobs, deletion', async (t) => {
  await client.resource(services).create({ metadata: { name: 'next', namespace }, spec: { ports: [{ port: 80 }] } });
  const addresses = (await client.resource(services).list()).items.map(({ spec }) => spec.clusterIP);
  t.equal(new Set(addresses).size, addresses.length, 'no address is given twice');
  await client.resource(cronjobs).create({
    metadata: { name: 'hourly', namespace },
    spec: {
      schedule: '0 * * * *',
      jobTemplate: {
        spec: {
          template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i', command: ['true'] }] } },
        },
      },
    },
  });
  await post('/test/snapshots', { save: 'cron' });
  const run = async () => {
    await post('/test/clock', { advance: '150m' });
    return (await client.resource(jobs).list({ namespace })).items.map(({ metadata }) => metadata.name).sort();
  };
  const first = await run();
  t.equal(first.length, 2);
  for (let again = 0; again < 3; again += 1) {
    await post('/test/snapshots', { restore: 'cron' });
    await settle(t);
    t.same((await client.resource(jobs).list({ namespace })).items, [], 'no job yet');
    t.same(await run(), first, 'the same jobs at the same times');
  }
  await client.resource(deployments).delete('kept', { namespace });
  await settle(t);
  t.same((await client.resource(pods).list({ namespace, labelSelector: 'name=kept' })).items, []);
  t.ok(
    (await client.resource(nodes).list()).items.every(({ status }) =>
      status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True'),
    ),
  );
  await post('/test/clock', { advance: '2h' });
  t.same(
    (await client.resource(events).list({ namespace })).items.filter(({ reason }) => reason === 'Scheduled').length,
    1,
    'restored events expire',
  );
});

t.test('snapshots are listed, replaced and deleted', async (t) => {
  const names = async () =>
    (await client.request<{ snapshots: { name: string }[] }>('GET', '/test/snapshots')).snapshots.map(
      ({ name }) => name,
    );
  t.same(await names(), ['begin', 'cron']);
  await post('/test/snapshots', { save: 'cron' });
  t.same(await names(), ['begin', 'cron']);
  await client.request('DELETE', '/test/snapshots?name=cron');
  t.same(await names(), ['begin']);
  await t.rejects(client.request('DELETE', '/test/snapshots?name=cron'), /snapshots "cron" not found/);
  await t.rejects(post('/test/snapshots', { restore: 'cron' }), /snapshots "cron" not found/);
  for (const body of [{ save: '../a' }, { save: 1 }, {}, { save: 'a', restore: 'a' }, { load: 'a' }])
    await t.rejects(post('/test/snapshots', body), /save|restore/, JSON.stringify(body));
});
