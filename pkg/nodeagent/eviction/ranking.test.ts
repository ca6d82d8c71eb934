import t from 'tap';
import type { Pod, PodSpec } from '#api/core/v1/types.gen.js';
import { value } from '#apimachinery/quantity.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { evictionTexts } from '#nodeagent/eviction/message.js';
import type { PodUse } from '#nodeagent/eviction/pod-usage.js';
import { rankForEviction } from '#nodeagent/eviction/ranking.js';
import { type Signal, signalNames } from '#nodeagent/pressure/thresholds.js';

interface Measured {
  name: string;
  priority?: number;
  requests?: Record<string, string>;
  volumes?: PodSpec['volumes'];
  /** Bytes or processes. Absent: not measured. */
  use?: { memory?: number; processes?: number; layer?: number; logs?: number; volume?: number; files?: number };
}

function podOf({ name, priority, requests = {}, volumes = [{ name: 'v', emptyDir: {} }] }: Measured): Pod {
  const containers = [{ name: 'c', image: 'i', resources: { requests } }];
  return {
    metadata: { name, uid: name },
    spec: { containers, volumes, ...(priority === undefined ? {} : { priority }) },
  };
}

function useOf({ use }: Measured): PodUse | undefined {
  if (use === undefined) return undefined;
  const { memory = 0, processes = 0, layer = 0, logs = 0, volume = 0, files = 0 } = use;
  return {
    memoryBytes: memory,
    processes,
    containers: [
      {
        name: 'c',
        memoryBytes: memory,
        rootfs: { bytes: layer, inodes: layer * 2 },
        logs: { bytes: logs, inodes: logs * 2 },
      },
    ],
    volumes: new Map([['v', { bytes: volume, inodes: files }]]),
  };
}

function ranked(signal: Signal, pods: readonly Measured[], hasImageFilesystem = false): string {
  const uses = new Map(
    pods.flatMap((pod) => [[pod.name, useOf(pod)] as const]).filter((entry) => entry[1] !== undefined),
  );
  const input = { signal, pods: pods.map(podOf), uses: uses as ReadonlyMap<string, PodUse>, hasImageFilesystem };
  return rankForEviction(input)
    .map(({ metadata }) => metadata.name)
    .join(' ');
}

t.test('pods are ranked as 1.24 ranks them', async (t) => {
  const memory = [
    { name: 'below', requests: { memory: '100' }, use: { memory: 90 } },
    { name: 'important', priority: 10, use: { memory: 500 } },
    { name: 'above', requests: { memory: '100' }, use: { memory: 110 } },
    { name: 'far-above', requests: { memory: '10' }, use: { memory: 60 } },
    { name: 'cheap', priority: -1, requests: { memory: '100' }, use: { memory: 20 } },
  ];
  const ranking = 'far-above above important cheap below';
  t.equal(ranked('memory.available', memory), ranking, 'memory: above the request, then priority, then the difference');
  t.equal(ranked('allocatableMemory.available', memory), ranking, 'memory of all pods');
  t.equal(
    ranked('pid.available', [
      { name: 'few', use: { processes: 2 } },
      { name: 'important', priority: 1, use: { processes: 900 } },
      { name: 'many', use: { processes: 30 } },
      { name: 'unmeasured' },
    ]),
    'unmeasured many few important',
    'processes: priority, then their number, whatever the requests',
  );
  const disk = [
    { name: 'layer', use: { layer: 50 } },
    { name: 'logs', use: { logs: 40 } },
    { name: 'volume', use: { volume: 30 } },
    { name: 'requested', requests: { 'ephemeral-storage': '100' }, use: { layer: 90 } },
    { name: 'more-than-requested', requests: { 'ephemeral-storage': '50' }, use: { volume: 60, logs: 15 } },
  ];
  t.equal(ranked('nodefs.available', disk), 'layer logs volume more-than-requested requested', 'one file system');
  t.equal(ranked('imagefs.available', disk), 'layer logs volume more-than-requested requested', 'by either name');
  t.equal(
    ranked('nodefs.available', disk, true),
    'logs volume more-than-requested layer requested',
    'without layers, if images have their own file system',
  );
  t.equal(
    ranked('imagefs.available', disk, true),
    'layer logs volume requested more-than-requested',
    'that of the images has only layers',
  );
  t.equal(
    ranked('nodefs.inodesFree', [
      { name: 'few', use: { files: 5 } },
      { name: 'many', use: { files: 90 } },
      { name: 'requested', requests: { 'ephemeral-storage': '80' }, use: { files: 95 } },
    ]),
    'many requested few',
    'files, less the requested bytes, as in 1.24',
  );
});

t.test('only volumes on the disk of the node count', async (t) => {
  const rows: [string, NonNullable<PodSpec['volumes']>[number], boolean][] = [
    ['empty directory', { name: 'v', emptyDir: {} }, true],
    ['memory', { name: 'v', emptyDir: { medium: 'Memory' } }, false],
    ['configuration', { name: 'v', configMap: { name: 'x' } }, true],
    ['host path', { name: 'v', hostPath: { path: '/x' } }, true],
    ['secret', { name: 'v', secret: { secretName: 'x' } }, false],
    ['claim', { name: 'v', persistentVolumeClaim: { claimName: 'x' } }, false],
  ];
  for (const [name, volume, counts] of rows) {
    const pods = [
      { name: 'other', use: { logs: 1 } },
      { name: 'own', volumes: [volume], use: { volume: 9 } },
    ];
    t.equal(ranked('nodefs.available', pods), counts ? 'own other' : 'other own', name);
  }
});

t.test('pods without measurements are evicted first', async (t) => {
  for (const signal of signalNames) {
    const pods = [{ name: 'measured', use: { memory: 9, layer: 9, processes: 9 } }, { name: 'unmeasured' }];
    t.equal(ranked(signal, pods), 'unmeasured measured', signal);
  }
});

/** Picks the worst pod again and again, by rules that compare the amounts one by one; slow. */
function reference(signal: Signal, pods: readonly Measured[], own: boolean): string[] {
  const requested = (pod: Measured, resource: string) => value(pod.requests?.[resource] ?? '0');
  const amounts = (pod: Measured) => {
    const { memory = 0, processes = 0, layer = 0, logs = 0, volume = 0, files = 0 } = pod.use ?? {};
    const parts = { layer: !own || signal.startsWith('imagefs'), rest: !own || signal.startsWith('nodefs') };
    const bytes = (parts.layer ? layer : 0) + (parts.rest ? logs + volume : 0);
    const inodes = (parts.layer ? layer * 2 : 0) + (parts.rest ? logs * 2 + files : 0);
    if (signal.toLowerCase().includes('memory'))
      return { used: memory, request: requested(pod, 'memory'), limit: 'memory' };
    if (signal === 'pid.available') return { used: processes, request: 0, limit: '' };
    const storage = requested(pod, 'ephemeral-storage');
    return signal.endsWith('inodesFree')
      ? { used: inodes, request: storage, limit: 'inodes' }
      : { used: bytes, request: storage, limit: 'ephemeral-storage' };
  };
  const key = (pod: Measured) => {
    const { used, request, limit } = amounts(pod);
    const missing = pod.use === undefined ? 1 : 0;
    const exceeds = limit === '' ? [] : [missing, missing === 1 || used > requested(pod, limit) ? 1 : 0];
    return [...exceeds, -(pod.priority ?? 0), missing, missing === 1 ? 0 : used - request];
  };
  const left = [...pods];
  const order: string[] = [];
  while (left.length > 0) {
    const worst = left.reduce((a, b) => {
      const [first, second] = [key(a), key(b)];
      const at = first.findIndex((each, i) => each !== second[i]);
      return at >= 0 && (second[at] as number) > (first[at] as number) ? b : a;
    });
    order.push(worst.name);
    left.splice(left.indexOf(worst), 1);
  }
  return order;
}

t.test('random pods are ranked as by the slow rules', async (t) => {
  const random = seededRandom(7);
  const int = (max: number) => Math.floor(random() * (max + 1));
  for (let round = 0; round < 400; round++) {
    const pods = Array.from({ length: int(7) }, (_, i): Measured => {
      const requests = { memory: String(int(9)), 'ephemeral-storage': String(int(9)) };
      const amounts = { memory: int(9), processes: int(9), layer: int(3), logs: int(3), volume: int(3), files: int(9) };
      return {
        name: `p${i}`,
        priority: int(2),
        ...(int(4) > 0 ? { requests } : {}),
        ...(int(5) > 0 ? { use: amounts } : {}),
      };
    });
    const signal = signalNames[int(signalNames.length - 1)] as Signal;
    const own = random() < 0.5;
    const [actual, expected] = [ranked(signal, pods, own), reference(signal, pods, own).join(' ')];
    if (actual !== expected) return void t.equal(actual, expected, `round ${round}: ${signal} ${JSON.stringify(pods)}`);
  }
  t.pass('400 nodes');
});

t.test('the message of an eviction is that of 1.24', async (t) => {
  const Mi = 2 ** 20;
  const pod = podOf({ name: 'p', requests: {} });
  const use = useOf({ name: 'p', use: { memory: 100 * Mi, layer: 3 * Mi, logs: Mi } });
  t.same(evictionTexts('memory', pod, use), {
    message: 'The node was low on resource: memory. Container c was using 100Mi, which exceeds its request of 0. ',
    annotations: { offending_containers: 'c', offending_containers_usage: '100Mi', starved_resource: 'memory' },
  });
  t.same(evictionTexts('ephemeral-storage', podOf({ name: 'p', requests: { 'ephemeral-storage': '2048Ki' } }), use), {
    message:
      'The node was low on resource: ephemeral-storage. Container c was using 4Mi, which exceeds its request of 2Mi. ',
    annotations: {
      offending_containers: 'c',
      offending_containers_usage: '4Mi',
      starved_resource: 'ephemeral-storage',
    },
  });
  t.same(evictionTexts('memory', podOf({ name: 'p', requests: { memory: '100Mi' } }), use), {
    message: 'The node was low on resource: memory. ',
    annotations: { offending_containers: '', offending_containers_usage: '', starved_resource: 'memory' },
  });
  t.same(evictionTexts('pids', pod, use).message, 'The node was low on resource: pids. ');
  t.same(evictionTexts('inodes', pod, undefined), {
    message: 'The node was low on resource: inodes. ',
    annotations: {},
  });
});
