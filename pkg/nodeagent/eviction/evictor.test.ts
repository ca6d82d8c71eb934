import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { Evictor, type EvictorOptions } from '#nodeagent/eviction/evictor.js';
import type { PodUse } from '#nodeagent/eviction/pod-usage.js';
import type { PodFailure } from '#nodeagent/pods/lifecycle.js';
import type { Observations } from '#nodeagent/pressure/assessment.js';
import type { Signal, Threshold } from '#nodeagent/pressure/thresholds.js';

const Mi = 2 ** 20;

interface SimulatedPod {
  readonly pod: Pod;
  memory: number;
  isCritical: boolean;
  /** Time between its eviction and its end (ms); infinite for a pod that cannot be killed. */
  endsAfterMs: number;
  evictedAt?: number;
  failure?: PodFailure;
}

function podOf(name: string, memory: number, more: Partial<SimulatedPod> = {}): SimulatedPod {
  const pod: Pod = {
    metadata: { name, namespace: 'n', uid: name },
    spec: { containers: [{ name: 'main', image: 'i' }], terminationGracePeriodSeconds: 20 },
  };
  return { pod, memory, isCritical: false, endsAfterMs: 500, ...more };
}

/** A machine of 1000 Mi whose memory its pods share, with a disk that fills up with dead containers and images. */
class Node {
  readonly clock = new VirtualClock();
  readonly log: string[] = [];
  readonly evictor: Evictor;
  pods: SimulatedPod[] = [];
  disk = { images: 0, dead: 0, other: 0 };
  hasImageFilesystem = false;
  isBroken = false;
  readonly measurements: { -readonly [K in keyof EvictorOptions['measurements']]: EvictorOptions['measurements'][K] } =
    {
      observations: async () => this.#observations(),
      hasImageFilesystem: async () => this.hasImageFilesystem,
      storage: async () => new Map(),
      uses: async () => new Map(this.pods.map(({ pod, memory }) => [pod.metadata.uid ?? '', useOf(memory)])),
    };
  readonly #started = this.clock.monotonic();

  constructor(thresholds: readonly Threshold[], more: Partial<EvictorOptions> = {}) {
    const event = (text: string) => this.log.push(`${(this.clock.monotonic() - this.#started) / 1000} s ${text}`);
    this.evictor = new Evictor({
      clock: this.clock,
      log: silentLogger,
      thresholds,
      transitionMs: 30_000,
      maxPodGraceSeconds: 0,
      limitsStorage: false,
      measurements: this.measurements,
      pods: {
        active: () => this.pods.filter((each) => !this.#isOver(each)).map(({ pod }) => pod),
        isCritical: (pod) => this.#named(pod.metadata.uid)?.isCritical === true,
        evict: (uid, failure) => {
          const pod = this.#named(uid);
          if (pod === undefined || this.#isOver(pod)) return 'over';
          if (pod.evictedAt !== undefined) return 'ending';
          pod.evictedAt = this.clock.monotonic();
          pod.failure = failure;
          return 'begun';
        },
        isOver: (uid) => this.#isOver(this.#named(uid)),
        isReleased: (uid) => this.#named(uid) === undefined,
        removeEvicted: async () => {
          this.pods = this.pods.filter((pod) => !this.#isOver(pod));
        },
      },
      reclaimImages: [
        async () => {
          event('dead containers removed');
          this.disk.dead = 0;
        },
        async () => {
          event('images removed');
          this.disk.images = 0;
        },
      ],
      nodeEvents: { record: ({ reason, message }) => event(`${reason}: ${message}`) },
      podEvents: {
        pod: (pod, type, reason, message, annotations) =>
          event(`${pod.metadata.name} ${type} ${reason}: ${message}${annotations?.['starved_resource'] ?? ''}`),
      },
      metrics: {
        evicted: (signal) => event(`counted ${signal}`),
        measuredBefore: (signal, seconds) => event(`${signal} measured ${seconds} s before`),
      },
      onChange: () => event(`conditions: ${this.evictor.conditions.join(', ')}`),
      ...more,
    });
  }

  #named(uid: string | undefined): SimulatedPod | undefined {
    return this.pods.find(({ pod }) => pod.metadata.uid === uid);
  }

  #isOver(pod: SimulatedPod | undefined): boolean {
    if (pod === undefined) return true;
    return pod.evictedAt !== undefined && this.clock.monotonic() - pod.evictedAt >= pod.endsAfterMs;
  }

  #observations(): Observations {
    if (this.isBroken) throw new Error('the machine does not answer');
    const timeMs = this.clock.monotonic();
    const running = this.pods.filter((pod) => !this.#isOver(pod)).reduce((sum, { memory }) => sum + memory, 0);
    const { images, dead, other } = this.disk;
    return {
      'memory.available': { available: 1000 * Mi - running, capacity: 1000 * Mi, timeMs },
      'nodefs.available': { available: 1000 - images - dead - other, capacity: 1000, timeMs },
    };
  }
}

function useOf(memory: number): PodUse {
  const none = { bytes: 0, inodes: 0 };
  const containers = [{ name: 'main', memoryBytes: memory, rootfs: none, logs: none }];
  return { memoryBytes: memory, processes: 1, containers, volumes: new Map() };
}

const hard = (signal: Signal, amount: string, more: Partial<Threshold> = {}): Threshold => ({
  ...{ signal, amount, graceMs: 0, ...more },
});

async function run(node: Node, t: { teardown(fn: () => unknown): void }): Promise<void> {
  const stop = new AbortController();
  const running = node.evictor.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await running;
  });
  await node.clock.advance(1);
}

t.test('pressure comes, pods are evicted one after the other, and it goes; and all of it once more', async (t) => {
  const node = new Node([hard('memory.available', '100Mi')]);
  await run(node, t);
  for (const name of ['first', 'second']) {
    node.log.splice(0);
    node.pods = [podOf(`${name}-small`, 500 * Mi), podOf(`${name}-large`, 600 * Mi), podOf(`${name}-tiny`, 350 * Mi)];
    await node.clock.advance(12_000);
    const text = (pod: string, used: string) => [
      'EvictionThresholdMet: Attempting to reclaim memory',
      'memory.available measured 0 s before',
      `${name}-${pod} Warning Evicted: The node was low on resource: memory. Container main was using ${used}Mi, which exceeds its request of 0. memory`,
      'counted memory.available',
    ];
    const seen = node.log.map((line) => line.replace(/^\S+ s /, ''));
    t.same(seen, ['conditions: MemoryPressure', ...text('large', '600')], 'one pod is enough');
    t.same(
      node.pods.map(({ pod }) => pod.metadata.name),
      [`${name}-small`, `${name}-tiny`],
    );
    await node.clock.advance(10_000);
    t.same(node.evictor.conditions, ['MemoryPressure'], 'the condition lasts');
    await node.clock.advance(40_000);
    t.same(node.evictor.conditions, [], 'and ends');
  }
});

t.test('the next pod is evicted without waiting for the period, once the last one has gone', async (t) => {
  const node = new Node([hard('memory.available', '500Mi')]);
  node.pods = [300, 301, 302, 100].map((memory) => podOf(`p${memory}`, memory * Mi));
  await run(node, t);
  await node.clock.advance(9000);
  const evicted = node.log.flatMap((line) => /(\S+) Warning Evicted/.exec(line)?.[1] ?? []);
  t.same(evicted, ['p302', 'p301']);
  t.same(
    node.pods.map(({ pod }) => pod.metadata.name),
    ['p300', 'p100'],
  );
  t.match(node.log.filter((line) => line.includes('Warning Evicted'))[1], /^2(\.\d+)? s /, 'after two seconds');
});

t.test('critical pods are never evicted', async (t) => {
  const node = new Node([hard('memory.available', '500Mi')]);
  node.pods = [podOf('critical', 900 * Mi, { isCritical: true }), podOf('other', Mi)];
  await run(node, t);
  await node.clock.advance(60_000);
  t.same(
    node.pods.map(({ pod }) => pod.metadata.name),
    ['critical'],
  );
  t.equal(node.log.filter((line) => line.includes('Warning Evicted')).length, 1);
});

t.test('a pod that cannot be killed is reported, and no other is evicted instead until then', async (t) => {
  const node = new Node([hard('memory.available', '500Mi')]);
  node.pods = [podOf('stuck', 900 * Mi, { endsAfterMs: Number.POSITIVE_INFINITY }), podOf('other', Mi)];
  await run(node, t);
  await node.clock.advance(55_000);
  const lines = node.log
    .filter((line) => line.includes('Warning'))
    .map((line) => line.replace(/^(\S+) s (\S+).*?(\w+):.*/, '$1 $2 $3'));
  t.match(lines[0], /^0(\.\d+)? stuck Evicted$/);
  t.match(lines[1], /^10(\.\d+)? stuck ExceededGracePeriod$/);
  t.notOk(lines.some((line) => line.includes('other')));
});

t.test('no other pod is evicted for one that has ended by itself meanwhile', async (t) => {
  const node = new Node([hard('memory.available', '500Mi')]);
  node.pods = [podOf('ended', 900 * Mi), podOf('other', Mi)];
  const { uses } = node.measurements;
  node.measurements.uses = async (pods, options) => {
    const measured = await uses(pods, options);
    node.pods = node.pods.filter(({ pod }) => pod.metadata.name !== 'ended');
    return measured;
  };
  await run(node, t);
  await node.clock.advance(30_000);
  t.notOk(node.log.some((line) => line.includes('Warning Evicted')));
});

t.test('the grace period of a pod follows from the threshold', async (t) => {
  const graceOf = async (threshold: Threshold, maxPodGraceSeconds: number) => {
    const node = new Node([threshold], { maxPodGraceSeconds });
    const pod = podOf('p', 900 * Mi);
    node.pods = [pod];
    await run(node, t);
    await node.clock.advance(15_000);
    return { seconds: pod.failure?.graceSeconds, since: pod.evictedAt };
  };
  t.equal((await graceOf(hard('memory.available', '500Mi'), 60)).seconds, 1, 'hard: the least');
  const soft = hard('memory.available', '500Mi', { graceMs: 10_000 });
  t.equal((await graceOf(soft, 60)).seconds, 60, 'soft: --eviction-max-pod-grace-period');
  t.equal((await graceOf(soft, 0)).seconds, undefined, 'soft without it: its own');
});

t.test('disk pressure first removes dead containers and images, and evicts only if that is not enough', async (t) => {
  const node = new Node([hard('nodefs.available', '10%', { minimumReclaim: '100' })]);
  node.pods = [podOf('p', Mi)];
  node.disk = { dead: 100, images: 200, other: 650 };
  await run(node, t);
  const expected = (conditions: string[]) => [
    ...conditions,
    'EvictionThresholdMet: Attempting to reclaim ephemeral-storage',
    'dead containers removed',
    'images removed',
  ];
  const seen = () => node.log.splice(0).map((line) => line.replace(/^\S+ s /, ''));
  t.same(seen(), expected(['conditions: DiskPressure']), 'enough');
  await node.clock.advance(60_000);
  t.same(seen(), ['conditions: '], 'and over');
  node.disk = { dead: 50, images: 40, other: 810 };
  await node.clock.advance(10_000);
  t.same(seen(), [], '100 are left: as many as needed');
  node.disk = { dead: 50, images: 41, other: 810 };
  await node.clock.advance(10_000);
  t.same(
    seen(),
    [
      ...expected(['conditions: DiskPressure']),
      'nodefs.available measured 0 s before',
      'p Warning Evicted: The node was low on resource: ephemeral-storage. ephemeral-storage',
      'counted nodefs.available',
    ],
    '190 are less than threshold and minimum reclaim',
  );
});

t.test('with an own file system of images, that of the node has nothing to remove but pods', async (t) => {
  const node = new Node([hard('nodefs.available', '10%')]);
  node.hasImageFilesystem = true;
  node.disk = { dead: 100, images: 200, other: 650 };
  node.pods = [podOf('p', Mi)];
  await run(node, t);
  t.notOk(node.log.some((line) => line.includes('removed')));
  t.ok(node.log.some((line) => line.includes('p Warning Evicted')));
});

t.test('a failed check is repeated', async (t) => {
  const node = new Node([hard('memory.available', '500Mi')]);
  node.isBroken = true;
  node.pods = [podOf('p', 900 * Mi)];
  await run(node, t);
  await node.clock.advance(20_000);
  t.same(node.log, []);
  node.isBroken = false;
  await node.clock.advance(10_000);
  t.ok(node.log.some((line) => line.includes('p Warning Evicted')));
});

t.test('the evictor checks at once when memory is said to be short', async (t) => {
  const node = new Node([hard('memory.available', '500Mi')]);
  await run(node, t);
  node.pods = [podOf('p', 900 * Mi)];
  await node.clock.advance(1000);
  t.same(node.log, []);
  node.evictor.wake();
  await node.clock.advance(1);
  t.ok(node.log.some((line) => line.includes('p Warning Evicted')));
});

t.test('local storage above a limit is an eviction too, before any other', async (t) => {
  const limited = podOf('limited', Mi);
  const pod: Pod = {
    ...limited.pod,
    spec: { containers: [{ name: 'main', image: 'i', resources: { limits: { 'ephemeral-storage': '10' } } }] },
  };
  let bytes = 10;
  const storage = () => ({
    containers: [{ name: 'main', memoryBytes: undefined, rootfs: { bytes, inodes: 1 }, logs: { bytes: 0, inodes: 0 } }],
    volumes: new Map(),
  });
  const node = new Node([hard('memory.available', '500Mi')], {
    limitsStorage: true,
    measurements: {
      observations: async () => ({ 'memory.available': { available: 0, capacity: 1, timeMs: node.clock.monotonic() } }),
      hasImageFilesystem: async () => false,
      storage: async (pods) => new Map(pods.map(({ metadata }) => [metadata.uid ?? '', storage()])),
      uses: async () => new Map(),
    },
  });
  node.pods = [{ ...limited, pod }, podOf('critical', Mi, { isCritical: true })];
  bytes = 11;
  await run(node, t);
  const lines = node.log.map((line) => line.replace(/^\S+ s /, ''));
  t.same(lines.slice(0, 3), [
    'conditions: MemoryPressure',
    'limited Warning Evicted: Pod ephemeral local storage usage exceeds the total limit of containers 10. ',
    'counted ephemeralpodfs.limit',
  ]);
  t.equal(lines.length, 3, 'and the memory has to wait');
});
