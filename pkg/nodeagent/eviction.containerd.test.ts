/** Evictions and collection with real containers, whose memory and disks are small. */
import t from 'tap';
import { events, nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Event, PodSpec } from '#api/core/v1/types.gen.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import {
  type ContainerdFixture,
  type ContainerdFixtureOptions,
  containerdFixture,
  skipWithoutContainers,
} from '#containerd/testing/containerd-fixture.js';
import { LocalMachine } from '#nodeagent/node/machine.js';
import { eventually, nodeName, testPod } from '#nodeagent/testing/agent-fixture.js';

const skip = await skipWithoutContainers();
t.setTimeout(170_000);
const Mi = 2 ** 20;

/** Periods of minutes pass in seconds. */
const hurried: Clock = { ...realClock, sleep: (ms, signal) => realClock.sleep(Math.min(ms, 2000), signal) };

interface ShortNode extends ContainerdFixture {
  /** Starts a pod that runs a shell command in `/data`, an empty directory. */
  start(name: string, command: string, spec?: Partial<PodSpec>, medium?: string): void;
  condition(type: string): string | undefined;
  eventsOf(name: string, reason: string): Event[];
  /** Resolves once the pod was evicted, and nothing of it is left. */
  evicted(name: string): Promise<void>;
  /** Resolves once the node has no pressure any more. */
  recovered(type: string): Promise<void>;
}

async function shortNode(
  t: Parameters<typeof containerdFixture>[0],
  options: ContainerdFixtureOptions,
): Promise<ShortNode> {
  const fixture = await containerdFixture(t, { ...options, clock: hurried });
  const { api, status, images, cri, describe } = fixture;
  const condition = (type: string) =>
    api.get(nodes, nodeName)?.status?.conditions?.find((each) => each.type === type)?.status;
  return {
    ...fixture,
    condition,
    start(name, command, spec = {}, medium = '') {
      const volumeMounts = [{ name: 'data', mountPath: '/data' }];
      const main = {
        name: 'main',
        image: images.busybox,
        command: ['sh', '-c', command],
        workingDir: '/data',
        volumeMounts,
      };
      const volumes = [{ name: 'data', emptyDir: medium === '' ? {} : { medium } }];
      const { containers: [more] = [], ...rest } = spec;
      const containers = [{ ...main, ...more }];
      api.seed(pods, testPod(name, { terminationGracePeriodSeconds: 1, volumes, ...rest, containers }));
    },
    eventsOf: (name, reason) =>
      api.list(events).filter((each) => each.involvedObject.name === name && each.reason === reason),
    async evicted(name) {
      const isGone = async () =>
        status(name)?.reason === 'Evicted' &&
        !(await cri.listContainers()).some(({ labels }) => Object.values(labels).includes(name));
      await eventually(isGone, `the eviction of ${name}: ${describe(name)}`);
    },
    async recovered(type) {
      await eventually(() => condition(type) === 'False', `the end of ${type}`);
    },
  };
}

t.test('pods that fill memory and disk are evicted, and unused data goes first', { skip }, async (t) => {
  const { memoryBytes } = await new LocalMachine('/', realClock).facts();
  const node = await shortNode(t, {
    disks: { '.': { bytes: 200 * Mi, files: 20_000 } },
    args: [
      '--eviction-hard=memory.available<100Mi,nodefs.available<30%,nodefs.inodesFree<30%',
      '--eviction-pressure-transition-period=1s',
      '--kernel-memcg-notification',
      // All pods together get 300 Mi.
      `--system-reserved=memory=${Math.floor(memoryBytes / Mi) - 300}Mi`,
      '--minimum-image-ttl-duration=0s',
      '--image-gc-high-threshold=100',
    ],
  });
  const { api, status, start, eventsOf, evicted, recovered, condition, isReady, cri, images } = node;
  const quiet = { containers: [{ name: 'main', resources: { requests: { memory: '20Mi' } } }] };
  start('quiet', 'sleep 1000', quiet);
  await eventually(() => isReady('quiet'), 'the quiet pod');

  await t.test('memory, twice', async (t) => {
    for (const name of ['hog', 'second-hog']) {
      start(name, `dd if=/dev/zero of=file bs=1M count=230; sleep 1000`, {}, 'Memory');
      await evicted(name);
      t.match(
        status(name)?.message,
        /^The node was low on resource: memory\. Container main was using 2\d+(\d{3})?(Mi|Ki), which exceeds its request of 0\. $/,
        name,
      );
      t.match(eventsOf(name, 'Evicted')[0]?.metadata.annotations, {
        offending_containers: 'main',
        offending_containers_usage: /^2\d+(Mi|Ki)$/,
        starved_resource: 'memory',
      });
      await recovered('MemoryPressure');
    }
    t.ok(isReady('quiet'));
    t.ok(eventsOf(nodeName, 'NodeHasInsufficientMemory').length > 0);
  });

  await t.test('disk space that an ended pod holds is freed without an eviction, unused images with it', async (t) => {
    t.ok(await cri.imageStatus(images.web), 'there is an unused image');
    const done = { restartPolicy: 'Never', containers: [{ name: 'main', image: images.busybox }] };
    start('done', 'dd if=/dev/zero of=/layer bs=1M count=105', done);
    await eventually(() => status('done')?.phase === 'Succeeded', 'the end of the pod');
    start('filler', 'dd if=/dev/zero of=file bs=1M count=40; sleep 1000');
    const isFreed = async () => {
      const left = (await cri.listContainers()).some(({ labels }) => Object.values(labels).includes('done'));
      return !left && (await cri.imageStatus(images.web)) === undefined;
    };
    await eventually(isFreed, 'the removal of the container and of the unused image');
    const texts = eventsOf(nodeName, 'EvictionThresholdMet').map(({ message }) => message);
    t.ok(texts.includes('Attempting to reclaim ephemeral-storage'), 'because disk was short');
    await recovered('DiskPressure');
    t.match(status('done'), { phase: 'Succeeded', containerStatuses: [{ state: { terminated: { exitCode: 0 } } }] });
    t.ok(await cri.imageStatus(images.busybox), 'but not used ones');
    t.ok(await cri.imageStatus(images.pause), 'nor the one of sandboxes');
    t.same(api.list(pods).filter((pod) => pod.status?.reason === 'Evicted').length, 2, 'nothing else was evicted');
    await node.remove('filler');
  });

  await t.test('disk space of a volume', async (t) => {
    start('writer', 'dd if=/dev/zero of=file bs=1M count=150; sleep 1000');
    await evicted('writer');
    t.match(status('writer')?.message, /^The node was low on resource: ephemeral-storage\. /);
    await recovered('DiskPressure');
  });

  await t.test('files', async (t) => {
    start('creator', 'i=0; while [ $i -lt 14000 ]; do i=$((i + 1)); : > f$i; done; sleep 1000');
    await evicted('creator');
    t.equal(status('creator')?.message, 'The node was low on resource: inodes. ');
    await recovered('DiskPressure');
  });
  t.ok(isReady('quiet'), 'the quiet pod runs on');
  t.equal(condition('MemoryPressure'), 'False');
  start('next', 'sleep 1000', quiet);
  await eventually(() => isReady('next'), 'a pod after all this');
});

t.test(
  'images on a disk of their own are collected, and its pods are evicted for their layers',
  { skip },
  async (t) => {
    const node = await shortNode(t, {
      disks: { root: { bytes: 100 * Mi, files: 50_000 } },
      args: [
        '--eviction-hard=imagefs.available<30%',
        '--eviction-pressure-transition-period=1s',
        '--minimum-image-ttl-duration=0s',
        '--image-gc-high-threshold=40',
        '--image-gc-low-threshold=5',
      ],
    });
    const { status, start, evicted, recovered, isReady, cri, images, eventsOf } = node;
    start('volume', 'dd if=/dev/zero of=file bs=1M count=80; sleep 1000');
    await eventually(() => isReady('volume'), 'the pod with a volume');
    t.ok(await cri.imageStatus(images.web), 'below the threshold, unused images stay');
    start('layer', 'dd if=/dev/zero of=/file bs=1M count=45; sleep 1000');
    await eventually(async () => (await cri.imageStatus(images.web)) === undefined, 'the removal of unused images');
    await eventually(() => eventsOf(nodeName, 'FreeDiskSpaceFailed').length > 0, 'the event');
    t.match(
      eventsOf(nodeName, 'FreeDiskSpaceFailed')[0]?.message,
      /^failed to garbage collect required amount of images\. /,
    );
    t.ok(await cri.imageStatus(images.pause), 'the image of sandboxes stays');
    // The runtime measures layers only now and then.
    const isMeasured = async () =>
      (await cri.listContainerStats()).some(({ writableLayerUsedBytes }) => writableLayerUsedBytes > 40 * Mi);
    await eventually(isMeasured, 'the measurement of the layer');
    start('more', 'dd if=/dev/zero of=/file bs=1M count=30; sleep 1000');
    await evicted('layer');
    t.match(
      status('layer')?.message,
      /^The node was low on resource: ephemeral-storage\. Container main was using \d+Ki, which exceeds its request of 0\. $/,
    );
    await recovered('DiskPressure');
    t.equal(status('volume')?.phase, 'Running', 'volumes are on another disk');
  },
);
