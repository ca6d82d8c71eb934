/** A cluster's pods survive down and up. Deleted pods leave nothing behind, and no process runs after down. */
import t, { type Test } from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { configmaps, nodes, pods, secrets } from '#api/core/v1/resources.gen.js';
import type { Pod, Volume } from '#api/core/v1/types.gen.js';
import type { Client } from '#client/client.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import { eventually, ownRanges, rangeArguments, startTestCluster, type TestCluster } from '#test/e2e/harness.js';
import { killCluster, killContainerd } from '#test/e2e/kill.js';
import {
  footprint,
  leasedAddresses,
  networkNamespaces,
  nothing,
  podCgroups,
  podFolders,
  podMounts,
} from '#test/e2e/leftovers.js';
import { adminClient, openRuntime } from '#test/e2e/observe.js';
import {
  isReady,
  missingImage,
  namespace,
  pod,
  shell,
  sleeper,
  statusOf,
  untilPod,
  untilPodReady,
} from '#test/e2e/pods.js';
import { freePort } from '#test/free-port.js';

const noContainers = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 });
const skip = noContainers === undefined ? false : `${noContainers}: nothing can be left behind`;
t.setTimeout(300_000);

t.test('one process', { skip }, (t) => leaveNothing(t, { separate: false, crash: false }));
t.test('separate processes, after a crash', { skip }, (t) => leaveNothing(t, { separate: true, crash: true }));

interface Trial {
  readonly separate: boolean;
  /** The first `down` finds that the cluster's process and its runtime were killed. */
  readonly crash: boolean;
}

async function leaveNothing(t: Test, { separate, crash }: Trial): Promise<void> {
  const ranges = await ownRanges();
  const args = rangeArguments(ranges);
  const cluster = await startTestCluster({ separate, runtime: 'containerd', args });
  t.teardown(() => cluster.destroy());
  let client = await adminClient(cluster);
  await createWorkloads(client);
  await untilSettled(client);
  const before = (await client.resource(pods).list()).items;
  const nodeRange = await rangeOfNode(client);
  t.ok((await podCgroups(cluster.dataDir)).length > 0, 'pods have control groups');
  t.ok((await podMounts(cluster.dataDir)).length > 0, 'pods have mounts');
  const namespaces = await networkNamespaces(cluster.dataDir);
  t.ok(namespaces.length > 0, 'pods have networks');

  await client.close();
  if (crash) {
    await killCluster(cluster.dataDir);
    await killContainerd(cluster.dataDir);
  }
  await down(t, cluster);
  t.strictSame(
    await footprint(cluster.dataDir, { ranges, namespaces }),
    nothing,
    'a cluster that is down has nothing running',
  );
  await cluster.up();
  client = await adminClient(cluster);
  t.teardown(() => client.close());
  await sameAgain(t, client, before);
  t.equal(await rangeOfNode(client), nodeRange, 'the node has the range that it had');

  await deleteAll(client);
  const cri = openRuntime(cluster.dataDir);
  t.strictSame([await cri.listPodSandbox(), await cri.listContainers()], [[], []], 'the runtime holds nothing');
  await cri.close();
  t.strictSame(await podFolders(cluster.dataDir), [], 'no folder of a pod is left');
  t.strictSame(await podMounts(cluster.dataDir), [], 'nor a mount');
  t.strictSame(await podCgroups(cluster.dataDir), [], 'nor a control group');
  t.strictSame(await leasedAddresses(cluster.dataDir), [], 'nor an address');
  await down(t, cluster);
  t.strictSame(await footprint(cluster.dataDir, { ranges, namespaces }), nothing, 'and down leaves nothing running');
}

async function down(t: Test, cluster: TestCluster): Promise<void> {
  const { code, stdout, stderr } = await cluster.down();
  t.equal(code, 0, 'down', { stdout, stderr });
}

/** Names of the pods that end up Ready. */
const lasting = ['initialised', 'volumes', 'host-port'];

async function createWorkloads(client: Client): Promise<void> {
  const maps = client.resource(configmaps);
  await maps.create({ metadata: { name: 'settings', namespace }, data: { 'a.txt': 'a', 'b.txt': 'b' } });
  await client
    .resource(secrets)
    .create({ metadata: { name: 'hidden', namespace }, stringData: { password: 'secret' } });
  await client.resource(deployments).create({
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: {
          terminationGracePeriodSeconds: 2,
          containers: [{ name: 'web', image: 'orch/web:1.0', resources: { limits: { cpu: '200m', memory: '32Mi' } } }],
        },
      },
    },
  });
  const newPods = [
    pod('initialised', [shell(sleeper)], {
      initContainers: [shell('true', { name: 'first' }), shell('true', { name: 'second' })],
    }),
    pod('volumes', [shell(sleeper, { volumeMounts: mounts(), resources: { requests: { cpu: '10m' } } })], { volumes }),
    pod('host-port', [shell(sleeper, { ports: [{ containerPort: 80, hostPort: await freePort() }] })]),
    pod('crashing', [shell('exit 3')]),
    pod('imageless', [shell(sleeper, { image: missingImage })]),
    pod('blocked', [shell(sleeper)], { initContainers: [shell('exit 1', { name: 'failing' })] }),
    pod('done', [shell('exit 0')], { restartPolicy: 'Never' }),
    pod('stubborn', [shell('trap "" TERM; while true; do sleep 1; done')], { terminationGracePeriodSeconds: 1 }),
  ];
  for (const one of newPods) await client.resource(pods).create(one);
}

const volumes: Volume[] = [
  { name: 'disk', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '4Mi' } },
  { name: 'map', configMap: { name: 'settings' } },
  { name: 'secret', secret: { secretName: 'hidden' } },
  {
    name: 'all',
    projected: {
      sources: [
        { configMap: { name: 'settings' } },
        { secret: { name: 'hidden' } },
        { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
        { serviceAccountToken: { path: 'token', expirationSeconds: 3600 } },
      ],
    },
  },
];

function mounts() {
  const whole = volumes.map(({ name }) => ({ name, mountPath: `/volumes/${name}` }));
  return [...whole, { name: 'map', mountPath: '/single/a.txt', subPath: 'a.txt' }];
}

async function untilSettled(client: Client): Promise<void> {
  await Promise.all([
    ...lasting.map((name) => untilPodReady(client, name)),
    untilPodReady(client, 'stubborn'),
    untilPod(client, 'crashing', 'has crashed', (pod) => (statusOf(pod)?.restartCount ?? 0) > 0),
    untilPod(client, 'imageless', 'has no image', (pod) => statusOf(pod)?.state?.waiting !== undefined),
    untilPod(client, 'blocked', 'is blocked', (pod) => (statusOf(pod, 'failing')?.restartCount ?? 0) > 0),
    untilPod(client, 'done', 'has succeeded', (pod) => pod.status?.phase === 'Succeeded'),
    untilWebReady(client),
  ]);
}

async function untilWebReady(client: Client): Promise<Pod[]> {
  return eventually('the replicas are Ready', async () => {
    const { items } = await client.resource(pods).list({ namespace, labelSelector: 'app=web' });
    return items.length === 2 && items.every(isReady) && items;
  });
}

/** The pod range of the cluster's node. */
async function rangeOfNode(client: Client): Promise<string | undefined> {
  return (await client.resource(nodes).list()).items[0]?.spec.podCIDR;
}

/** After down and up the same pods run again, and no pod was replaced. */
async function sameAgain(t: Test, client: Client, before: readonly Pod[]): Promise<void> {
  const uidsOf = (list: readonly Pod[]) => list.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).sort();
  await untilSettled(client);
  const { items } = await client.resource(pods).list();
  t.strictSame(uidsOf(items), uidsOf(before), 'down and up keeps the pods');
  for (const name of lasting) {
    const pod = items.find(({ metadata }) => metadata.name === name);
    t.match(pod?.status, { phase: 'Running', podIP: /^10\./ }, `${name} runs again`);
  }
}

async function deleteAll(client: Client): Promise<void> {
  await client.resource(deployments).delete('web', { namespace, propagationPolicy: 'Background' });
  await client.resource(pods).deleteCollection({ namespace });
  await client.resource(configmaps).delete('settings', { namespace });
  await client.resource(secrets).delete('hidden', { namespace });
  await eventually('all pods are gone', async () => {
    const { items } = await client.resource(pods).list();
    if (items.length > 0)
      throw new Error(items.map(({ metadata, status }) => `${metadata.name} ${status?.phase}`).join());
    return true;
  });
}
