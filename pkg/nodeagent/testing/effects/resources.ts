/** Effects of options of resources and eviction. */

import { testPod } from '#nodeagent/testing/agent-fixture.js';
import { type Effects, gap, sees } from '#nodeagent/testing/effects/effect.js';
import { kibibytes, node, podStatus, started } from '#nodeagent/testing/effects/node-sights.js';
import {
  evictionsToReclaim,
  graceOfEviction,
  memoryPressure,
  pressureThatRemains,
  secondsUntilEviction,
} from '#nodeagent/testing/effects/reclaim-sights.js';

const sysctl = 'net.core.somaxconn';
const limited = () =>
  testPod('web', {
    containers: [{ name: 'main', image: 'docker.io/test/app:1.0', resources: { limits: { cpu: '2', memory: '1Gi' } } }],
  });

export const resourcesEffects: Effects = {
  'allowed-unsafe-sysctls': {
    argument: sysctl,
    fields: { allowedUnsafeSysctls: [sysctl] },
    proof: sees(
      'Running',
      podStatus(() => testPod('web', { securityContext: { sysctls: [{ name: sysctl, value: '7' }] } })),
    ),
  },
  'cgroup-driver': { argument: 'systemd', fields: { cgroupDriver: 'systemd' }, proof: gap('shutdown') },
  'cgroup-root': { argument: '/own', fields: { cgroupRoot: '/own' }, proof: gap('shutdown') },
  'cgroups-per-qos': {
    argument: 'false',
    fields: { cgroupsPerQOS: false },
    with: ['--enforce-node-allocatable='],
    proof: gap('shutdown'),
  },
  'nodeagent-cgroups': { argument: '/agent', fields: { nodeAgentCgroups: '/agent' }, proof: gap('shutdown') },
  'system-cgroups': {
    argument: '/system',
    fields: { systemCgroups: '/system' },
    with: ['--cgroup-root=/'],
    proof: gap('shutdown'),
  },
  'cpu-cfs-quota': {
    argument: 'false',
    fields: { cpuCFSQuota: false },
    proof: sees(
      undefined,
      started(({ container }) => container.linux.resources?.cpuQuota, limited),
    ),
  },
  'cpu-cfs-quota-period': {
    argument: '50ms',
    fields: { cpuCFSQuotaPeriod: '50ms' },
    gates: ['CustomCPUCFSQuotaPeriod'],
    proof: sees(
      100_000,
      started(({ container }) => container.linux.resources?.cpuQuota, limited),
    ),
  },
  'memory-throttling-factor': { argument: '0.5', fields: { memoryThrottlingFactor: 0.5 }, proof: gap('shutdown') },
  'memory-swap-behavior': {
    argument: 'UnlimitedSwap',
    fields: { memorySwap: { swapBehavior: 'UnlimitedSwap' } },
    gates: ['NodeSwap'],
    proof: sees(
      -1,
      started(({ container }) => container.linux.resources?.memorySwapLimitInBytes, limited),
    ),
  },
  'qos-reserved': {
    argument: 'memory=50%',
    fields: { qosReserved: { memory: '50%' } },
    gates: ['QOSReserved'],
    proof: gap('shutdown'),
  },
  'enforce-node-allocatable': {
    argument: 'none',
    fields: { enforceNodeAllocatable: ['none'] },
    proof: gap('shutdown'),
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
    proof: gap('shutdown'),
  },
  'orch-reserved-cgroup': { argument: '/own', fields: { orchReservedCgroup: '/own' }, proof: gap('shutdown') },
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
  'max-open-files': { argument: '7777', fields: { maxOpenFiles: 7777 }, proof: gap('shutdown') },
  'oom-score-adj': { argument: '7', fields: { oomScoreAdj: 7 }, proof: gap('shutdown') },
  'protect-kernel-defaults': {
    argument: 'true',
    fields: { protectKernelDefaults: true },
    proof: gap('shutdown'),
  },
  'fail-swap-on': { argument: 'false', fields: { failSwapOn: false }, proof: gap('shutdown') },
};
