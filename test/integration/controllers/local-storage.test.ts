/** Claims of the default class get directories of simulated nodes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { statefulsets } from '#api/apps/v1/resources.gen.js';
import { nodes, persistentvolumeclaims, persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { startCluster } from '#cluster/embedded/start-cluster.js';
import { documentedCommands } from '#test/e2e/documented.js';
import { eventually, root, run } from '#test/e2e/harness.js';

t.setTimeout(120_000);
const namespace = 'default';

const claim = (name: string, storage: string): PersistentVolumeClaim => ({
  metadata: { name, namespace },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
});
const container = { name: 'main', image: 'db:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] };
const user = (name: string, claimName: string): Pod => ({
  metadata: { name, namespace },
  spec: { containers: [container], volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] },
});

for (const dialect of ['orch', 'kubernetes'] as const) {
  t.test(`${dialect}: volumes are on their pods' nodes, and are deleted with their claims`, async (t) => {
    const cluster = await startCluster({ dialect, nodes: 2 });
    t.teardown(() => cluster.close());
    const { client } = cluster;
    const byDefault = `storageclass.${cluster.dialect.labelDomain}/is-default-class`;
    t.equal((await client.resource(storageclasses).get('local')).metadata.annotations?.[byDefault], 'true');
    await client.resource(statefulsets).create({
      metadata: { name: 'db', namespace },
      spec: {
        ...{ serviceName: 'db', replicas: 2, selector: { matchLabels: { app: 'db' } } },
        template: { metadata: { labels: { app: 'db' } }, spec: { containers: [container] } },
        volumeClaimTemplates: [claim('data', '1Gi')],
      },
    });
    await eventually('both pods run', async () => {
      const { status } = await client.resource(statefulsets).get('db', { namespace });
      return status?.readyReplicas === 2;
    });
    const volumes = await client.resource(persistentvolumes).list();
    const { items: running } = await client.resource(pods).list({ namespace });
    const placeOf = (pod: string) => running.find(({ metadata }) => metadata.name === pod)?.spec.nodeName;
    for (const { spec, status } of volumes.items) {
      t.equal(status?.phase, 'Bound');
      const [term] = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
      const pod = spec.claimRef?.name?.replace('data-', '') ?? '';
      t.same(term?.matchExpressions?.[0]?.values, [placeOf(pod)], `${pod} and its volume are on one node`);
    }

    await client.resource(statefulsets).delete('db', { namespace, propagationPolicy: 'Foreground' });
    for (const name of ['data-db-0', 'data-db-1'])
      await client.resource(persistentvolumeclaims).delete(name, { namespace });
    await eventually('the volumes are gone', async () => {
      return (await client.resource(persistentvolumes).list()).items.length === 0;
    });
  });
}

t.test('no node exceeds its capacity', async (t) => {
  const cluster = await startCluster({ nodes: 2 });
  t.teardown(() => cluster.close());
  const { client } = cluster;
  const { items } = await client.resource(nodes).list();
  const bytes = Math.max(...items.map(({ status }) => Number(quantity(status?.allocatable?.['ephemeral-storage']))));
  const most = String(Math.floor(bytes * 0.7));
  const names = ['a', 'b', 'c'];
  for (const name of names) {
    await client.resource(persistentvolumeclaims).create(claim(name, most));
    await client.resource(pods).create(user(name, name));
    if (name === 'c') break;
    await eventually(`${name} runs`, async () => {
      return (await client.resource(pods).get(name, { namespace })).status?.phase === 'Running';
    });
  }
  const placeOf = async (name: string) => (await client.resource(pods).get(name, { namespace })).spec.nodeName;
  t.not(await placeOf('a'), await placeOf('b'), 'each pod has its own node');
  await eventually('the third waits for room', async () => {
    const { status } = await client.resource(pods).get('c', { namespace });
    const [condition] = status?.conditions ?? [];
    return condition?.message?.includes('did not have enough free storage') === true;
  });
  await client.resource(pods).delete('a', { namespace });
  await client.resource(persistentvolumeclaims).delete('a', { namespace });
  await eventually('the third runs where the first was', async () => {
    return (await client.resource(pods).get('c', { namespace })).status?.phase === 'Running';
  });
});

t.test('the commands for a permanently lost node', async (t) => {
  const cluster = await startCluster({ nodes: 2, listen: true });
  const folder = mkdtempSync(join(tmpdir(), 'olost-'));
  t.teardown(async () => {
    rmSync(folder, { recursive: true, force: true });
    await cluster.close();
  });
  const config = join(folder, 'client.config');
  writeFileSync(config, cluster.kubeconfig());
  const { client } = cluster;
  await client.resource(statefulsets).create({
    metadata: { name: 'database', namespace },
    spec: {
      ...{ serviceName: 'database', replicas: 1, selector: { matchLabels: { app: 'database' } } },
      template: { metadata: { labels: { app: 'database' } }, spec: { containers: [container] } },
      volumeClaimTemplates: [claim('data', '1Gi')],
    },
  });
  const running = (): Promise<Pod> =>
    eventually('the pod runs', async () => {
      const pod = await client.resource(pods).get('database-0', { namespace }).catch(ignoreNotFound);
      const isRunning = pod?.status?.phase === 'Running' && pod.metadata.deletionTimestamp === undefined;
      return isRunning && pod;
    });
  const before = await running();
  const lost = before.spec.nodeName ?? '';
  const claimed = () => client.resource(persistentvolumeclaims).get('data-database-0', { namespace });
  const { spec: had } = await claimed();
  await cluster.stopNode(lost);

  const commands = documentedCommands('local-storage.md');
  t.equal(commands.length, 3);
  for (const command of commands) {
    const [program = '', ...args] = command.replaceAll('worker-a', lost).split(' ');
    const { code, stderr } = await run(join(root, program), args, { env: { KUBECONFIG: config } });
    t.equal(code, 0, `${command}: ${stderr}`);
  }
  const after = await running();
  t.not(after.metadata.uid, before.metadata.uid);
  t.not(after.spec.nodeName, lost, 'the pod runs on another node');
  const { spec: has, status } = await claimed();
  t.equal(status?.phase, 'Bound');
  t.not(has.volumeName, had.volumeName, 'with its own volume');
  await eventually('nothing is left of the old volume', async () => {
    const { items } = await client.resource(persistentvolumes).list();
    return items.length === 1 && items[0]?.metadata.name === has.volumeName;
  });
});

function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/** In bytes; simulated nodes report binary units or none. */
function quantity(text = '0'): number {
  const [, digits = '0', unit = ''] = /^(\d+)([KMGT]i)?$/.exec(text) ?? [];
  return Number(digits) * 1024 ** ['', 'Ki', 'Mi', 'Gi', 'Ti'].indexOf(unit);
}
