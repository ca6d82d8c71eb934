import t from 'tap';
import type { Container, Pod, Volume } from '#api/core/v1/types.gen.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import {
  checkPeriodMs,
  hasStorageLimits,
  StorageEvictor,
  type StorageEvictorOptions,
  storageExcess,
} from '#nodeagent/eviction/storage-evictor.js';

const container = (name: string, limit?: string): Container => ({
  name,
  image: 'i',
  ...(limit === undefined ? {} : { resources: { limits: { 'ephemeral-storage': limit } } }),
});
const pod = (containers: Container[], volumes: Volume[] = [], initContainers: Container[] = []): Pod => ({
  metadata: { name: 'p', uid: 'u' },
  spec: { containers, volumes, initContainers },
});
const excess = (of: Pod, volumes: Record<string, number>, containers: Record<string, number> = {}) =>
  storageExcess(of, { volumes: new Map(Object.entries(volumes)), containers: new Map(Object.entries(containers)) });

t.test('limits of volumes, the pod and its containers are checked in this order', async (t) => {
  const disk = { name: 'disk', emptyDir: { sizeLimit: '1Mi' } };
  const free = { name: 'free', emptyDir: {} };
  const memory = { name: 'memory', emptyDir: { medium: 'Memory' } };
  const zero = { name: 'zero', emptyDir: { sizeLimit: '0' } };
  const mib = 1024 * 1024;
  t.equal(excess(pod([container('c')], [disk]), { disk: mib }), undefined);
  t.equal(excess(pod([container('c')], [zero]), { zero: mib }), undefined, 'zero is no limit');
  t.same(excess(pod([container('c')], [disk]), { disk: mib + 1 }), {
    signal: 'emptydirfs.limit',
    message: 'Usage of EmptyDir volume "disk" exceeds the limit "1Mi". ',
  });
  const two = pod([container('a', '1Mi'), container('b', '2Mi')], [free, memory]);
  t.equal(excess(two, { free: mib, memory: 99 * mib }, { a: mib, b: mib }), undefined);
  t.same(excess(two, { free: mib + 1 }, { a: mib, b: mib }), {
    signal: 'ephemeralpodfs.limit',
    message: 'Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. ',
  });
  t.same(excess(two, {}, { a: mib + 1, b: 0 }), {
    signal: 'ephemeralcontainerfs.limit',
    message: 'Container a exceeded its local ephemeral storage limit "1Mi". ',
  });
  t.equal(excess(pod([container('a')], [], [container('init', '1Mi')]), {}, { a: mib }), undefined);
});

t.test('pods without limits are not measured', async (t) => {
  t.notOk(hasStorageLimits(pod([container('c')], [{ name: 'v', emptyDir: {} }])));
  t.ok(hasStorageLimits(pod([container('c')], [{ name: 'v', emptyDir: { sizeLimit: '1' } }])));
  t.ok(hasStorageLimits(pod([container('c', '1')])));
});

t.test('storage is checked periodically, even after failures', async (t) => {
  const clock = new VirtualClock();
  const evicted: unknown[] = [];
  const counted: string[] = [];
  let bytes = 0;
  let fails = true;
  const options = {
    clock,
    log: { warn: () => undefined },
    cri: {
      listContainerStats: async () => {
        if (fails) throw new Error('the runtime is down');
        return [
          { id: 'old', writableLayerUsedBytes: 99 },
          { id: 'x', writableLayerUsedBytes: bytes },
        ];
      },
    },
    observer: {
      get: () => ({
        containers: [
          { id: 'x', metadata: { name: 'c' } },
          { id: 'old', metadata: { name: 'c' } },
        ],
      }),
    },
    meter: { usage: async () => new Map([['u', { volumes: [], logs: new Map([['c', { usedBytes: 5 }]]) }]]) },
    pods: () => [pod([container('c', '10')])],
    evict: (uid: string, failure: unknown) => evicted.push([uid, failure]) === 1,
    onEvicted: (signal: string) => counted.push(signal),
  } as unknown as StorageEvictorOptions;
  const stop = new AbortController();
  const running = new StorageEvictor(options).run(stop.signal);
  await clock.advance(checkPeriodMs);
  fails = false;
  bytes = 5;
  await clock.advance(checkPeriodMs);
  t.same(evicted, []);
  bytes = 6;
  await clock.advance(checkPeriodMs);
  const message = 'Pod ephemeral local storage usage exceeds the total limit of containers 10. ';
  t.same(evicted, [['u', { reason: 'Evicted', message, isEviction: true, graceSeconds: 0 }]]);
  await clock.advance(checkPeriodMs);
  t.equal(evicted.length, 2, 'it has not gone yet');
  t.same(counted, ['ephemeralpodfs.limit'], 'and counts once');
  stop.abort();
  await running;
});
