/**
 * Every program of a cluster is killed in turn during a rolling update: the update completes, no container runs twice,
 * none is orphaned, and no acknowledged write is lost.
 */
import t, { type Test } from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import type { Deployment } from '#api/apps/v1/types.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { dialectByName } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { whyNoContainers } from '#cluster/machine/preflight.js';
import { AcknowledgedWrites } from '#test/e2e/acknowledged.js';
import { eventually, ownRanges, rangeArguments, startTestCluster, type TestCluster } from '#test/e2e/harness.js';
import {
  findContainerd,
  findProgram,
  killCluster,
  killContainerd,
  killEverything,
  killProgram,
} from '#test/e2e/kill.js';
import { footprint, leasedAddresses, nothing } from '#test/e2e/leftovers.js';
import {
  adminClient,
  DoubleRunWatch,
  disagreements,
  openRuntime,
  processesOf,
  untilNothingIsOrphaned,
} from '#test/e2e/observe.js';
import { explained } from '#test/e2e/situation.js';

t.setTimeout(480_000);

const noContainers = whyNoContainers({ path: process.env['PATH'] ?? '', isRoot: process.getuid?.() === 0 });
const runtime = noContainers === undefined ? 'containerd' : 'simulated';
if (noContainers !== undefined) t.comment(`${noContainers}: on simulated nodes, without looking at a real runtime`);

const namespace = 'default';
const replicas = 4;
const versions: readonly [string, string] = ['orch/web:1.0', 'orch/web:2.0'];
const { components } = dialectByName('orch');

const web: Deployment = {
  metadata: { name: 'web', namespace },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 2,
        containers: [
          {
            name: 'web',
            image: versions[0],
            readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
};

interface Fault {
  readonly name: string;
  /** Kills a process, and restarts it unless the cluster does so itself. */
  strike(cluster: TestCluster): Promise<void>;
}

function programKilled(program: string): Fault {
  return {
    name: program,
    async strike({ dataDir }) {
      await killProgram(dataDir, program);
      await eventually(`${program} runs again`, async () => findProgram(dataDir, program) !== undefined);
    },
  };
}

const containerdKilled: Fault = {
  name: 'containerd',
  async strike({ dataDir }) {
    await killContainerd(dataDir);
    await eventually('containerd runs again', async () => (await findContainerd(dataDir)) !== undefined);
  },
};

/** Kills everything at once, containers included, like a machine that stops. */
const allKilled: Fault = {
  name: 'everything',
  async strike(cluster) {
    await killEverything(cluster.dataDir);
    await cluster.up();
  },
};

const runtimeFaults = runtime === 'containerd' ? [containerdKilled] : [];

/** Without their supervisor, killed programs restart only with `up`. */
function clusterKilled(...programs: string[]): Fault {
  return {
    name: ['the cluster process', ...programs].join(' and '),
    async strike(cluster) {
      await killCluster(cluster.dataDir);
      for (const program of programs) await killProgram(cluster.dataDir, program);
      await cluster.up();
    },
  };
}

t.test('one process', { timeout: 240_000 }, (t) =>
  survive(t, {
    separate: false,
    faults: [...runtimeFaults, programKilled('etcd'), clusterKilled(), allKilled],
  }),
);

t.test('separate processes', { timeout: 240_000 }, (t) =>
  survive(t, {
    separate: true,
    faults: [
      programKilled(components.apiServer),
      programKilled(components.controllerManager),
      programKilled(components.scheduler),
      programKilled(components.nodeAgent),
      ...runtimeFaults,
      programKilled('etcd'),
      clusterKilled(components.nodeAgent, components.controllerManager),
      allKilled,
    ],
  }),
);

interface Trial {
  readonly separate: boolean;
  readonly faults: readonly Fault[];
}

async function survive(t: Test, { separate, faults }: Trial): Promise<void> {
  const ranges = await ownRanges();
  const cluster = await startTestCluster({
    runtime,
    separate,
    args: rangeArguments(ranges),
  });
  t.teardown(() => cluster.destroy());
  const client = await adminClient(cluster);
  t.teardown(() => client.close());
  const cri = runtime === 'containerd' ? openRuntime(cluster.dataDir) : undefined;
  t.teardown(() => cri?.close());

  await client.resource(deployments).create(web);
  await untilComplete(client, versions[0]);
  const watch = cri === undefined ? undefined : new DoubleRunWatch(cri);
  for (const [i, fault] of faults.entries()) {
    await t.test(`${fault.name} is killed`, async (t) => {
      const [old, version] = i % 2 === 0 ? versions : ([versions[1], versions[0]] as const);
      const writes = new AcknowledgedWrites(client);
      await update(client, version);
      await explained(cluster, () => untilHalfWay(client, version));
      // Back and forth again, so that pods of both versions come and go during the fault.
      await update(client, old);
      await update(client, version);
      await fault.strike(cluster);
      const updated = await explained(cluster, () => untilComplete(client, version));
      t.equal(updated.length, replicas, 'the update completes');
      const before = writes.count;
      await eventually('writes are acknowledged again', async () => writes.count > before);
      await writes.stop();
      t.strictSame(await writes.lost(), [], `all that was acknowledged is there (${writes.count} writes)`);
      if (cri !== undefined) {
        await untilNothingIsOrphaned(client, cri);
        // An update that was complete before the kill looks complete until the agent reports; its report must be true.
        const agree = async () => (await disagreements(await webPods(client), cri)).length === 0;
        await explained(cluster, () => eventually('what the API says to run runs', agree));
      }
    });
  }
  await watch?.stop();
  if (watch !== undefined) {
    t.ok(watch.samples > 10, 'the runtime was looked at');
    t.strictSame([...watch.doubles], [], 'no container ran twice');
  }
  await client.resource(deployments).delete('web', { namespace, propagationPolicy: 'Background' });
  const gone = async () => (await client.resource(pods).list()).items.length === 0;
  await explained(cluster, () => eventually('all pods are gone', gone));
  if (cri === undefined) return;
  await untilNothingIsOrphaned(client, cri);
  await eventually('no container has left a process', async () => (await shims(cluster)).length === 0);
  t.strictSame(await leasedAddresses(cluster.dataDir), [], 'nothing is left of the pods');
  await cluster.down();
  const left = await footprint(cluster.dataDir, { ranges, namespaces: [] });
  t.strictSame(left, nothing, 'nor of the cluster');
}

/** The runtime's helper processes, one per sandbox. */
async function shims({ dataDir }: TestCluster): Promise<string[]> {
  return (await processesOf(dataDir)).filter((command) => command.includes('containerd-shim'));
}

async function update(client: Client, image: string): Promise<void> {
  const patch = { spec: { template: { spec: { containers: [{ name: 'web', image }] } } } };
  await client.resource(deployments).patch('web', patch, { namespace, type: 'strategic' });
}

async function webPods(client: Client): Promise<Pod[]> {
  return (await client.resource(pods).list({ namespace, labelSelector: 'app=web' })).items;
}

const imageOf = (pod: Pod) => pod.spec.containers[0]?.image;

/** Some pods are new, and some are old. */
async function untilHalfWay(client: Client, image: string): Promise<void> {
  await eventually('the update is on its way', async () => {
    const news = (await webPods(client)).filter((pod) => imageOf(pod) === image);
    return news.some((pod) => pod.status?.phase === 'Running');
  });
}

/** Waits until all replicas run the image and no other pod is left; returns the replicas. */
async function untilComplete(client: Client, image: string): Promise<Pod[]> {
  return eventually(
    `all of ${replicas} replicas run ${image}`,
    async () => {
      const current = await webPods(client);
      const seen = current.map((pod) => `${pod.metadata.name} ${imageOf(pod)} ${pod.status?.phase}`);
      const good = current.filter(
        (pod) =>
          imageOf(pod) === image &&
          pod.metadata.deletionTimestamp === undefined &&
          pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
      );
      if (good.length !== replicas || current.length !== replicas) throw new Error(seen.join(', '));
      return good;
    },
    60_000,
  );
}
