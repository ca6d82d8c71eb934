/** Effects of options that bind containers to CPUs and NUMA nodes. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { machine } from '#nodeagent/allocation/testing/machines.js';
import { SimulatedMachine } from '#nodeagent/simulated/node.js';
import { testPod } from '#nodeagent/testing/agent-fixture.js';
import { type Effects, type Sight, sees } from '#nodeagent/testing/effects/effect.js';
import { node, podStatus, type SeenAgentOptions, seen, started } from '#nodeagent/testing/effects/node-sights.js';

/** Each container is guaranteed so many CPUs. */
const guaranteed =
  (...cpus: readonly string[]) =>
  (): Pod =>
    testPod('web', {
      containers: cpus.map((cpu, i) => ({
        name: `c${i}`,
        image: 'docker.io/test/app:1.0',
        resources: { requests: { cpu, memory: '1Gi' }, limits: { cpu, memory: '1Gi' } },
      })),
    });

const on = (shape: Parameters<typeof machine>[0]): SeenAgentOptions => ({
  dependencies: () => ({ machine: new SimulatedMachine({ address: '192.0.2.1', topology: machine(shape) }) }),
});
const threads = on({ sockets: 1, nodesPerSocket: 1, coresPerNode: 4, threads: 2 });
/** CPUs 0 and 1 on one, 2 and 3 on the other. */
const twoNodes = on({ sockets: 2, nodesPerSocket: 1, coresPerNode: 2, threads: 1 });

const cpusOf = started(({ container }) => container.linux.resources.cpusetCpus, guaranteed('2'));
const memoryNodesOf = started(({ container }) => container.linux.resources.cpusetMems, guaranteed('2'));

const orFailure =
  (sight: Sight): Sight =>
  async (values, dialect) => {
    try {
      return await sight(values, dialect);
    } catch (error) {
      return messageOf(error);
    }
  };

/** The milliseconds between two changes of the CPU set of a container without its own CPUs. */
const betweenUpdates = seen(async ({ api, clock, calls }) => {
  const updates = () => calls.filter(([name]) => name === 'updateContainerResources');
  api.seed(pods, testPod('shared'));
  await clock.advanceUntil(() => api.list(pods)[0]?.status?.phase === 'Running');
  const at: number[] = [];
  for (const round of [1, 2]) {
    api.seed(pods, { ...guaranteed('2')(), metadata: { ...guaranteed('2')().metadata, name: `own-${round}` } });
    await clock.advanceUntil(() => updates().length === round);
    at.push(clock.now());
  }
  return (at[1] ?? 0) - (at[0] ?? 0);
});

const isStatic = ['--cpu-manager-policy=static'];

export const allocationEffects: Effects = {
  'cpu-manager-policy': {
    argument: 'static',
    fields: { cpuManagerPolicy: 'static' },
    with: ['--system-reserved=cpu=500m'],
    proof: sees('1-2', cpusOf),
  },
  'cpu-manager-policy-options': {
    argument: 'full-pcpus-only=true',
    fields: { cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } },
    with: [...isStatic, '--system-reserved=cpu=2'],
    proof: sees('Failed SMTAlignmentError', podStatus(guaranteed('1'), threads)),
  },
  'cpu-manager-reconcile-period': {
    argument: '7s',
    fields: { cpuManagerReconcilePeriod: '7s' },
    with: [...isStatic, '--system-reserved=cpu=1'],
    proof: sees(7000, betweenUpdates),
  },
  'memory-manager-policy': {
    argument: 'Static',
    fields: { memoryManagerPolicy: 'Static' },
    with: ['--reserved-memory=0:memory=1Gi', '--eviction-hard=memory.available<1Gi'],
    proof: sees('0', memoryNodesOf),
  },
  'topology-manager-policy': {
    argument: 'restricted',
    fields: { topologyManagerPolicy: 'restricted' },
    with: [...isStatic, '--reserved-cpus=0,2'],
    proof: sees('Failed TopologyAffinityError', podStatus(guaranteed('2'), twoNodes)),
  },
  'topology-manager-scope': {
    argument: 'pod',
    fields: { topologyManagerScope: 'pod' },
    with: [...isStatic, '--reserved-cpus=0,2', '--topology-manager-policy=restricted'],
    proof: sees('Failed TopologyAffinityError', podStatus(guaranteed('1', '1'), twoNodes)),
  },
  'reserved-cpus': {
    argument: '0-1',
    fields: { reservedSystemCPUs: '0-1' },
    with: ['--system-reserved=cpu=1', '--orch-reserved=cpu=5'],
    proof: sees(
      '30',
      node(({ status }) => status?.allocatable?.['cpu']),
    ),
  },
  'reserved-memory': {
    argument: '0:memory=1Gi',
    fields: { reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }] },
    with: ['--memory-manager-policy=Static', '--eviction-hard=memory.available<1Gi'],
    proof: sees('0', orFailure(memoryNodesOf)),
  },
};
