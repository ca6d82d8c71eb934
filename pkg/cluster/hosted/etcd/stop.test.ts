import t from 'tap';
import { deployments, statefulsets } from '#api/apps/v1/resources.gen.js';
import { persistentvolumeclaims, pods } from '#api/core/v1/resources.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { restoreAttempt, stopForRestore } from './stop.js';

t.setTimeout(60_000);

const namespace = 'default';
const metadata = { name: 'a-etcd', namespace };
const annotation = 'charts.example.com/restored-backup';
const labels = { app: 'a' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a' }] } };
const selector = { matchLabels: labels };
const order = { set: 'a-etcd', annotation, backup: 'orch-20260131T120000Z' };
const input = { ...order, deployments: ['a', 'missing'], selector: 'app=a', replicas: 1 };

t.test('a control plane stops once for each restore', async (t) => {
  const cluster = await startCluster({ nodes: 1 });
  t.teardown(() => cluster.close());
  const { client } = cluster;
  const lines: string[] = [];
  const context = { client, namespace, clock: realClock, say: (line: string) => void lines.push(line) };
  const sets = client.resource(statefulsets);
  const runs = async (replicas: number) => {
    await sets.patch('a-etcd', { spec: { replicas } }, { namespace, type: 'merge' });
    await client.resource(deployments).patch('a', { spec: { replicas } }, { namespace, type: 'merge' });
  };
  const restored = (backup: string | null) =>
    sets.patch('a-etcd', { metadata: { annotations: { [annotation]: backup } } }, { namespace, type: 'merge' });

  await t.rejects(
    stopForRestore(input, context),
    /no StatefulSet a-etcd: install the chart first/,
    'nothing to restore into',
  );
  await sets.create({ metadata, spec: { serviceName: 'a', replicas: 1, selector, template } });
  await client
    .resource(deployments)
    .create({ metadata: { name: 'a', namespace }, spec: { replicas: 1, selector, template } });
  await t.rejects(
    stopForRestore(input, context),
    /no claim data-a-etcd-0: restore with as many members as now/,
    'no volume',
  );
  await client.resource(persistentvolumeclaims).create({
    metadata: { name: 'data-a-etcd-0', namespace },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  await t.rejects(restoreAttempt(order, context), /a-etcd has not been stopped/, 'never below a running etcd');

  await stopForRestore(input, context);
  t.equal(lines.at(-1), 'the control plane has stopped', 'it says so');
  t.same((await client.resource(pods).list({ namespace })).items, [], 'no pod is left');
  t.equal((await client.resource(deployments).get('a', { namespace })).spec?.replicas, 0, 'programs stop, too');
  const first = await restoreAttempt(order, context);
  t.match(first, /^orch-20260131T120000Z 2\d{3}-/, 'the restore has an identity');
  await stopForRestore(input, context);
  t.equal(await restoreAttempt(order, context), first, 'an attempt that was interrupted goes on');
  await t.rejects(
    restoreAttempt({ ...order, backup: 'orch-20260201T120000Z' }, context),
    /has not been stopped/,
    'another backup',
  );

  await restored(order.backup);
  await runs(1);
  await stopForRestore(input, context);
  t.match(lines.at(-1), 'was restored before: nothing stops', 'once is enough');
  t.equal((await sets.get('a-etcd', { namespace })).spec?.replicas, 1, 'etcd runs');
  t.equal(await restoreAttempt(order, context), undefined, 'no volume is filled again');

  await restored(null);
  await stopForRestore(input, context);
  t.not(await restoreAttempt(order, context), first, 'the same backup is restored again');
});
