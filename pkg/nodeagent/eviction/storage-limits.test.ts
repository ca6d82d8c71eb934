import t from 'tap';
import type { Container, Pod, Volume } from '#api/core/v1/types.gen.js';
import { hasStorageLimits, storageExcess } from '#nodeagent/eviction/storage-limits.js';

const container = (name: string, limit?: string): Container => ({
  name,
  image: 'i',
  ...(limit === undefined ? {} : { resources: { limits: { 'ephemeral-storage': limit } } }),
});
const pod = (containers: Container[], volumes: Volume[] = [], initContainers: Container[] = []): Pod => ({
  metadata: { name: 'p', uid: 'u' },
  spec: { containers, volumes, initContainers },
});
const disk = (bytes: number) => ({ bytes, inodes: 1 });

/** `containers`: by name, the bytes of the writable layer and of the logs. */
function excess(
  of: Pod,
  volumes: Record<string, number>,
  containers: Record<string, [layer: number, logs: number]> = {},
  hasImageFilesystem = false,
) {
  const use = {
    volumes: new Map(Object.entries(volumes).map(([name, bytes]) => [name, disk(bytes)])),
    containers: Object.entries(containers).map(([name, [layer, logs]]) => ({
      ...{ name, memoryBytes: undefined, rootfs: disk(layer), logs: disk(logs) },
    })),
  };
  return storageExcess(of, use, hasImageFilesystem);
}

t.test('limits of volumes, the pod and its containers are checked in this order', async (t) => {
  const onDisk = { name: 'disk', emptyDir: { sizeLimit: '1Mi' } };
  const free = { name: 'free', emptyDir: {} };
  const memory = { name: 'memory', emptyDir: { medium: 'Memory' } };
  const zero = { name: 'zero', emptyDir: { sizeLimit: '0' } };
  const mib = 1024 * 1024;
  t.equal(excess(pod([container('c')], [onDisk]), { disk: mib }), undefined);
  t.equal(excess(pod([container('c')], [zero]), { zero: mib }), undefined, 'zero is no limit');
  t.same(excess(pod([container('c')], [onDisk]), { disk: mib + 1 }), {
    signal: 'emptydirfs.limit',
    message: 'Usage of EmptyDir volume "disk" exceeds the limit "1Mi". ',
  });
  const two = pod([container('a', '1Mi'), container('b', '2Mi')], [free, memory]);
  t.equal(excess(two, { free: mib, memory: 99 * mib }, { a: [mib, 0], b: [0, mib] }), undefined);
  t.same(excess(two, { free: mib + 1 }, { a: [mib, 0], b: [0, mib] }), {
    signal: 'ephemeralpodfs.limit',
    message: 'Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. ',
  });
  t.same(excess(two, {}, { a: [mib, 1], b: [0, 0] }), {
    signal: 'ephemeralcontainerfs.limit',
    message: 'Container a exceeded its local ephemeral storage limit "1Mi". ',
  });
  t.equal(excess(pod([container('a')], [], [container('init', '1Mi')]), {}, { a: [mib, 0] }), undefined);
});

t.test('on an own file system of images, layers do not count against the limit of a container', async (t) => {
  const limited = pod([container('a', '10'), container('b', '20')]);
  t.match(excess(limited, {}, { a: [8, 3] }), { signal: 'ephemeralcontainerfs.limit' });
  t.equal(excess(limited, {}, { a: [8, 3] }, true), undefined);
  t.match(excess(limited, {}, { a: [0, 11] }, true), { signal: 'ephemeralcontainerfs.limit' });
  t.match(excess(limited, {}, { a: [31, 0] }, true), { signal: 'ephemeralpodfs.limit' }, 'but against that of the pod');
});

t.test('pods without limits are not measured', async (t) => {
  t.notOk(hasStorageLimits(pod([container('c')], [{ name: 'v', emptyDir: {} }])));
  t.ok(hasStorageLimits(pod([container('c')], [{ name: 'v', emptyDir: { sizeLimit: '1' } }])));
  t.ok(hasStorageLimits(pod([container('c', '1')])));
});
