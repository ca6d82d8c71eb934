import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { memoryVolumeBytes, pageSize } from '#nodeagent/volumes/empty-dir.js';

const podOf = (...limits: Record<string, string>[]): Pod => ({
  metadata: { name: 'p', namespace: 'default', uid: 'u' },
  spec: { containers: limits.map((each, n) => ({ name: `c${n}`, resources: { limits: each, requests: each } })) },
});

t.test("a memory volume is limited by its pod's limits or its own", async (t) => {
  const allocatable = { memory: '1Gi' };
  const rows: [name: string, pod: Pod, sizeLimit: string | undefined, expected: number | undefined][] = [
    ['no limit at all', podOf({}), undefined, 1 << 30],
    ['its own', podOf({}), '1Mi', 1 << 20],
    ['its own of nothing', podOf({}), '0', 1 << 30],
    ['more than the node has', podOf({}), '2Gi', 1 << 30],
    ["the pod's", podOf({ memory: '8Mi' }, { memory: '8Mi' }), undefined, 16 << 20],
    ["less than the pod's", podOf({ memory: '8Mi' }), '1Mi', 1 << 20],
    ["more than the pod's", podOf({ memory: '8Mi' }), '9Mi', 8 << 20],
    ['one container without a limit', podOf({ memory: '8Mi' }, {}), undefined, 1 << 30],
  ];
  for (const [name, pod, sizeLimit, expected] of rows)
    t.equal(memoryVolumeBytes(pod, sizeLimit, allocatable), expected, name);
  t.equal(memoryVolumeBytes(podOf({}), undefined, {}), undefined, 'a node that does not say');
});

t.test('the huge page size is that of the request', async (t) => {
  const small = podOf({ 'hugepages-2Mi': '4Mi' });
  const both = podOf({ 'hugepages-2Mi': '4Mi', 'hugepages-1Gi': '1Gi' });
  t.equal(pageSize(small, 'HugePages'), '2Mi');
  t.equal(pageSize(small, 'HugePages-2048Ki'), '2Mi');
  t.equal(pageSize(both, 'HugePages-1Gi'), '1Gi');
  const none = /hugePages storage requested, but there is no resource request for huge pages$/;
  t.throws(() => pageSize(podOf({}), 'HugePages'), none);
  t.throws(() => pageSize(small, 'HugePages-1Gi'), none);
  t.throws(() => pageSize(both, 'HugePages'), /can't be used if container requests multiple huge page sizes$/);
  t.throws(() => pageSize(small, 'Disk'), /^unknown storage medium "Disk"$/);
});
