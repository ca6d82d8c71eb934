import t from 'tap';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import { weightOfShares } from '#nodeagent/resources/cgroups.js';
import {
  containerResources,
  milliCPUToQuota,
  milliCPUToShares,
  podCgroupLimits,
} from '#nodeagent/resources/container-resources.js';

const quota = { enforced: true, periodMicros: 100_000 };
const node = { memoryCapacityBytes: 8 * 2 ** 30, quota };

function pod(...resources: NonNullable<Container['resources']>[]): Pod {
  return { metadata: { name: 'p' }, spec: { containers: resources.map((r, i) => ({ name: `c${i}`, resources: r })) } };
}

t.test('numbers of release 1.24', async (t) => {
  t.same([0, 1, 100, 1000, 1e9].map(milliCPUToShares), [2, 2, 102, 1024, 262_144]);
  t.same(
    [0, 1, 100, 1500].map((milli) => milliCPUToQuota(milli, 100_000)),
    [0, 1000, 10_000, 150_000],
  );
  t.same([2, 1024, 262_144].map(weightOfShares), [1, 39, 10_000]);
});

t.test('a container by its class', async (t) => {
  const of = (p: Pod) => containerResources(p, p.spec.containers[0] as Container, node);
  const guaranteed = { limits: { cpu: '500m', memory: '1Gi' }, requests: { cpu: '500m', memory: '1Gi' } };
  t.same(of(pod(guaranteed)), {
    cpuShares: 512,
    oomScoreAdj: -997,
    memoryLimitInBytes: 2 ** 30,
    cpuPeriod: 100_000,
    cpuQuota: 50_000,
  });
  t.same(of(pod({})), { cpuShares: 2, oomScoreAdj: 1000, cpuPeriod: 100_000, cpuQuota: 0 });
  t.same(of(pod({ requests: { memory: '2Gi', cpu: '1' } })), {
    cpuShares: 1024,
    oomScoreAdj: 750,
    cpuPeriod: 100_000,
    cpuQuota: 0,
  });
});

t.test('the pod is limited only where every container is', async (t) => {
  const limited = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } };
  t.same(podCgroupLimits(pod(limited, limited), quota), {
    cpuShares: 2048,
    cpuQuota: 200_000,
    memoryLimitInBytes: 2 * 2 ** 30,
  });
  t.same(podCgroupLimits(pod(limited, {}), quota), { cpuShares: 1024 });
});
