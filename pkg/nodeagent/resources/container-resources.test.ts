import t from 'tap';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { weightOfShares } from '#nodeagent/resources/cgroup-settings.js';
import {
  containerResources,
  milliCPUToQuota,
  milliCPUToShares,
  podCgroupLimits,
  sandboxResources,
} from '#nodeagent/resources/container-resources.js';

const quota = { enforced: true, periodMicros: 100_000 };
const gi = 2 ** 30;
const node = {
  ...{ quota, memoryQoS: false, memoryThrottlingFactor: 0.8, pageSizes: [2 * 2 ** 20, gi] },
  memoryCapacityBytes: 8 * gi,
  memoryAllocatableBytes: 6 * gi,
};
const noPages = [
  { pageSize: '2MB', limit: 0 },
  { pageSize: '1GB', limit: 0 },
];

function pod(...resources: NonNullable<Draft<Container>['resources']>[]): Draft<Pod> {
  return { metadata: { name: 'p' }, spec: { containers: resources.map((r, i) => ({ name: `c${i}`, resources: r })) } };
}

t.test('shares, quotas and weights are those of release 1.24', async (t) => {
  t.same([0, 1, 100, 1000, 1e9].map(milliCPUToShares), [2, 2, 102, 1024, 262_144]);
  t.same(
    [0, 1, 100, 1500].map((milli) => milliCPUToQuota(milli, 100_000)),
    [0, 1000, 10_000, 150_000],
  );
  t.same([2, 1024, 262_144].map(weightOfShares), [1, 39, 10_000]);
});

t.test('container resources depend on the QoS class', async (t) => {
  const resourcesOf = (p: Pod, facts = node) => containerResources(p, p.spec.containers[0] as Container, facts);
  const guaranteed = { limits: { cpu: '500m', memory: '1Gi' }, requests: { cpu: '500m', memory: '1Gi' } };
  t.same(resourcesOf(pod(guaranteed)), {
    cpuShares: 512,
    oomScoreAdj: -997,
    memoryLimitInBytes: gi,
    cpuPeriod: 100_000,
    cpuQuota: 50_000,
    hugepageLimits: noPages,
  });
  t.same(resourcesOf(pod({}), { ...node, pageSizes: [] }), {
    ...{ cpuShares: 2, oomScoreAdj: 1000, cpuPeriod: 100_000, cpuQuota: 0 },
  });
  t.same(resourcesOf(pod({ requests: { memory: '2Gi', cpu: '1' } })), {
    cpuShares: 1024,
    oomScoreAdj: 750,
    cpuPeriod: 100_000,
    cpuQuota: 0,
    hugepageLimits: noPages,
  });
  const huge = pod({ limits: { 'hugepages-2Mi': '64Mi', memory: '1Gi' }, requests: { memory: '1Gi' } });
  t.same(resourcesOf(huge).hugepageLimits, [
    { pageSize: '2MB', limit: 64 * 2 ** 20 },
    { pageSize: '1GB', limit: 0 },
  ]);
});

t.test('cgroup v2 memory protection and throttling, if enabled', async (t) => {
  const memoryOf = (resources: NonNullable<Container['resources']>, memoryThrottlingFactor = 0.8) => {
    const p = pod(resources);
    const facts = { ...node, memoryThrottlingFactor, memoryQoS: true };
    return containerResources(p, p.spec.containers[0] as Container, facts).unified;
  };
  t.same(memoryOf({ requests: { memory: '1Gi' }, limits: { memory: '2Gi' } }), {
    'memory.min': String(gi),
    'memory.high': String(Math.floor(2 * gi * 0.8)),
  });
  t.same(memoryOf({ requests: { memory: '1Gi' } }), {
    'memory.min': String(gi),
    'memory.high': String(Math.floor(6 * gi * 0.8)),
  });
  t.same(memoryOf({ requests: { memory: '1Gi' }, limits: { memory: '1Gi' } }), { 'memory.min': String(gi) });
  t.same(memoryOf({ limits: { memory: '2Gi' } }, 0.5), { 'memory.high': String(gi) }, 'by the factor of the options');
});

t.test('swap limits, if enabled', async (t) => {
  const swapOf = (resources: NonNullable<Container['resources']>, swap?: 'LimitedSwap' | 'UnlimitedSwap') => {
    const p = pod(resources);
    const facts = { ...node, ...(swap && { swap }) };
    return containerResources(p, p.spec.containers[0] as Container, facts).memorySwapLimitInBytes;
  };
  const limited = { limits: { memory: '1Gi' } };
  t.equal(swapOf(limited), undefined);
  t.equal(swapOf(limited, 'LimitedSwap'), gi, 'of memory and swap together');
  t.equal(swapOf({}, 'LimitedSwap'), undefined, 'nothing limits them');
  t.equal(swapOf(limited, 'UnlimitedSwap'), -1);
});

t.test('a pod is limited only if all its containers are', async (t) => {
  const limited = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } };
  const limitsOf = (p: Pod, memoryQoS = false) => podCgroupLimits(p, { quota, memoryQoS });
  t.same(limitsOf(pod(limited, limited)), {
    cpuShares: 2048,
    cpuQuota: { quotaMicros: 200_000, periodMicros: 100_000 },
    memoryBytes: 2 * gi,
    hugePages: {},
  });
  t.same(limitsOf(pod(limited, {}), true), { cpuShares: 1024, memoryMinBytes: gi, hugePages: {} });
  const unquoted = podCgroupLimits(pod(limited), { quota: { ...quota, enforced: false }, memoryQoS: false });
  t.equal(unquoted.cpuQuota?.quotaMicros, -1);
  const huge = (amount: string) => ({ requests: { 'hugepages-1Gi': amount } });
  const both = pod(huge('1Gi'), huge('2Gi'));
  both.spec.initContainers = [{ name: 'init', resources: huge('5Gi') }];
  t.same(limitsOf(both).hugePages, { [gi]: 5 * gi });
});

t.test("a sandbox gets its containers' total and the overhead", async (t) => {
  const p = pod({ requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } }, { requests: { cpu: '500m' } });
  p.spec.overhead = { cpu: '250m', memory: '120Mi' };
  t.same(sandboxResources(p, quota), {
    resources: { cpuShares: 1536, memoryLimitInBytes: gi, cpuPeriod: 100_000, cpuQuota: 200_000 },
    overhead: { cpuShares: 256, memoryLimitInBytes: 120 * 2 ** 20, cpuPeriod: 100_000, cpuQuota: 25_000 },
  });
  t.same(sandboxResources(pod({}), quota).overhead, {});
});
