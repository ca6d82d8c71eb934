/** Effects of options of resources and eviction. */

import { testPod } from '#nodeagent/testing/agent-fixture.js';
import { type Effects, seenIn, sees } from '#nodeagent/testing/effects/effect.js';
import { kibibytes, limitedPod, node, podStatus, started } from '#nodeagent/testing/effects/node-sights.js';
import {
  evictionsToReclaim,
  graceOfEviction,
  memoryPressure,
  pressureThatRemains,
  secondsUntilEviction,
} from '#nodeagent/testing/effects/reclaim-sights.js';
import { hasPodCgroups, throttledAt } from '#nodeagent/testing/effects/time-sights.js';

const sysctl = 'net.core.somaxconn';

export const resourcesEffects: Effects = {
  'allowed-unsafe-sysctls': {
    argument: sysctl,
    fields: { allowedUnsafeSysctls: [sysctl] },
    proof: sees(
      'Running',
      podStatus(() => testPod('web', { securityContext: { sysctls: [{ name: sysctl, value: '7' }] } })),
    ),
  },
  'cgroup-driver': {
    argument: 'systemd',
    fields: { cgroupDriver: 'systemd' },
    proof: seenIn('pkg/nodeagent/resources/systemd-units.test.ts', 'a pod is a systemd slice'),
  },
  'cgroup-root': {
    argument: '/own',
    fields: { cgroupRoot: '/own' },
    proof: seenIn(
      'pkg/nodeagent/resources/node-cgroups.test.ts',
      'version 1: cgroups of all pods, the classes and each pod',
    ),
  },
  'cgroups-per-qos': {
    argument: 'false',
    fields: { cgroupsPerQOS: false },
    with: ['--enforce-node-allocatable='],
    proof: sees(false, hasPodCgroups),
  },
  'nodeagent-cgroups': {
    argument: '/agent',
    fields: { nodeAgentCgroups: '/agent' },
    proof: seenIn('pkg/nodeagent/resources/system-cgroups.test.ts', 'processes are moved to their cgroups, repeatedly'),
  },
  'system-cgroups': {
    argument: '/system',
    fields: { systemCgroups: '/system' },
    with: ['--cgroup-root=/'],
    proof: seenIn('pkg/nodeagent/resources/system-cgroups.test.ts', 'processes are moved to their cgroups, repeatedly'),
  },
  'cpu-cfs-quota': {
    argument: 'false',
    fields: { cpuCFSQuota: false },
    proof: sees(
      undefined,
      started(({ container }) => container.linux.resources?.cpuQuota, limitedPod),
    ),
  },
  'cpu-cfs-quota-period': {
    argument: '50ms',
    fields: { cpuCFSQuotaPeriod: '50ms' },
    gates: ['CustomCPUCFSQuotaPeriod'],
    proof: sees(
      100_000,
      started(({ container }) => container.linux.resources?.cpuQuota, limitedPod),
    ),
  },
  'memory-throttling-factor': {
    argument: '0.5',
    fields: { memoryThrottlingFactor: 0.5 },
    gates: ['MemoryQoS'],
    proof: sees('500', throttledAt),
  },
  'memory-swap-behavior': {
    argument: 'UnlimitedSwap',
    fields: { memorySwap: { swapBehavior: 'UnlimitedSwap' } },
    gates: ['NodeSwap'],
    proof: sees(
      -1,
      started(({ container }) => container.linux.resources?.memorySwapLimitInBytes, limitedPod),
    ),
  },
  'qos-reserved': {
    argument: 'memory=50%',
    fields: { qosReserved: { memory: '50%' } },
    gates: ['QOSReserved'],
    proof: seenIn(
      'pkg/nodeagent/resources/node-cgroups.test.ts',
      'memory is reserved for higher classes, or usage is the limit',
    ),
  },
  'enforce-node-allocatable': {
    argument: 'none',
    fields: { enforceNodeAllocatable: ['none'] },
    proof: seenIn('pkg/nodeagent/resources/node-cgroups.test.ts', 'reservations are enforced in their own cgroups'),
  },
  'system-reserved': {
    argument: 'cpu=2',
    fields: { systemReserved: { cpu: '2' } },
    proof: sees(
      '30',
      node(({ status }) => status?.allocatable?.['cpu']),
    ),
  },
  'orch-reserved': {
    argument: 'cpu=3',
    fields: { orchReserved: { cpu: '3' } },
    proof: sees(
      '29',
      node(({ status }) => status?.allocatable?.['cpu']),
    ),
  },
  'system-reserved-cgroup': {
    argument: '/system',
    fields: { systemReservedCgroup: '/system' },
    proof: seenIn('pkg/nodeagent/resources/node-cgroups.test.ts', 'reservations are enforced in their own cgroups'),
  },
  'orch-reserved-cgroup': {
    argument: '/own',
    fields: { orchReservedCgroup: '/own' },
    proof: seenIn('pkg/nodeagent/resources/node-cgroups.test.ts', 'reservations are enforced in their own cgroups'),
  },
  'eviction-hard': {
    argument: 'memory.available<1Gi',
    fields: { evictionHard: { 'memory.available': '1Gi' } },
    proof: sees(
      String(127 * 2 ** 20),
      node(({ status }) => kibibytes(status?.allocatable?.['memory'])),
    ),
  },
  'eviction-soft': {
    argument: 'memory.available<1Gi',
    fields: { evictionSoft: { 'memory.available': '1Gi' } },
    with: ['--eviction-soft-grace-period=memory.available=1h'],
    proof: sees('True', memoryPressure()),
  },
  'eviction-soft-grace-period': {
    argument: 'memory.available=7s',
    fields: { evictionSoftGracePeriod: { 'memory.available': '7s' } },
    with: ['--eviction-soft=memory.available<1Gi'],
    proof: sees(15, secondsUntilEviction()),
  },
  'eviction-minimum-reclaim': {
    argument: 'memory.available=1Gi',
    fields: { evictionMinimumReclaim: { 'memory.available': '1Gi' } },
    with: ['--eviction-hard=memory.available<1Gi'],
    proof: sees(2, evictionsToReclaim()),
  },
  'eviction-max-pod-grace-period': {
    argument: '7',
    fields: { evictionMaxPodGracePeriod: 7 },
    with: ['--eviction-soft=memory.available<1Gi', '--eviction-soft-grace-period=memory.available=1s'],
    proof: sees(7, graceOfEviction()),
  },
  'eviction-pressure-transition-period': {
    argument: '7s',
    fields: { evictionPressureTransitionPeriod: '7s' },
    with: ['--eviction-hard=memory.available<1Gi'],
    proof: sees('False', pressureThatRemains()),
  },
  'kernel-memcg-notification': {
    argument: 'true',
    fields: { kernelMemcgNotification: true },
    with: ['--eviction-hard=memory.available<1Gi'],
    proof: sees(0, secondsUntilEviction()),
  },
  'experimental-kernel-memcg-notification': {
    argument: 'true',
    with: ['--eviction-hard=memory.available<1Gi'],
    proof: sees(0, secondsUntilEviction()),
  },
  'max-open-files': {
    argument: '7777',
    fields: { maxOpenFiles: 7777 },
    proof: seenIn(
      'pkg/cluster/node-agent/program.test.ts',
      'the limit of open files is that of the options and fields',
    ),
  },
  'oom-score-adj': {
    argument: '7',
    fields: { oomScoreAdj: 7 },
    proof: seenIn('pkg/cluster/node-agent/program.test.ts', 'the process is set up as the options and fields say'),
  },
  'protect-kernel-defaults': {
    argument: 'true',
    fields: { protectKernelDefaults: true },
    proof: seenIn('pkg/nodeagent/node/prerequisites.test.ts', 'all differing settings are named'),
  },
  'fail-swap-on': {
    argument: 'false',
    fields: { failSwapOn: false },
    proof: seenIn('pkg/nodeagent/node/prerequisites.test.ts', 'swap is rejected'),
  },
};
