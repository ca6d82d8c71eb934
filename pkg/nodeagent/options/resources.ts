/** Options of resources and eviction. Names and defaults of release 1.24. */
import type { OptionTable } from '#daemon/options/option.js';

export const topologyPolicies: readonly string[] = ['none', 'best-effort', 'restricted', 'single-numa-node'];
export const topologyScopes: readonly string[] = ['container', 'pod'];

export const resourcesOptions = {
  'allowed-unsafe-sysctls': {
    type: 'strings',
    section: 'Resources',
    configField: 'allowedUnsafeSysctls',
    meaning: 'Unsafe sysctls that pods may set.',
  },
  'cgroup-driver': {
    type: 'string',
    default: 'cgroupfs',
    section: 'Resources',
    oneOf: ['cgroupfs', 'systemd'],
    configField: 'cgroupDriver',
    meaning:
      'Driver that creates cgroups. systemd requires that it is process 1, that busctl is installed, and that the runtime uses it, too.',
  },
  'cgroup-root': {
    type: 'string',
    default: '',
    section: 'Resources',
    configField: 'cgroupRoot',
    meaning: 'Parent cgroup of the cgroups of pods; it must exist. Default: the root cgroup.',
  },
  'cgroups-per-qos': {
    type: 'bool',
    default: true,
    section: 'Resources',
    configField: 'cgroupsPerQOS',
    meaning: 'Create cgroups per QoS class and pod.',
  },
  'nodeagent-cgroups': {
    type: 'string',
    section: 'Resources',
    configField: 'nodeAgentCgroups',
    meaning: 'Cgroup that the agent moves itself into, and that `/stats/summary` reports as the agent.',
  },
  'system-cgroups': {
    type: 'string',
    section: 'Resources',
    configField: 'systemCgroups',
    meaning:
      'Cgroup for all processes of the root cgroup, except process 1 and kernel threads; needs --cgroup-root. Undone only by a reboot.',
  },
  'cpu-cfs-quota': {
    type: 'bool',
    default: true,
    section: 'Resources',
    configField: 'cpuCFSQuota',
    meaning: 'Enforce CPU limits.',
  },
  'cpu-cfs-quota-period': {
    type: 'duration',
    default: 100,
    section: 'Resources',
    configField: 'cpuCFSQuotaPeriod',
    meaning: 'Period of CPU quotas.',
  },
  'cpu-manager-policy': {
    type: 'string',
    default: 'none',
    section: 'Resources',
    oneOf: ['none', 'static'],
    configField: 'cpuManagerPolicy',
    meaning:
      'Policy of assigning CPUs to containers; static: containers of Guaranteed pods that request whole CPUs get them exclusively. Needs reserved CPUs. A change needs a drained node without the file cpu_manager_state in --root-dir.',
  },
  'cpu-manager-policy-options': {
    type: 'map',
    section: 'Resources',
    configField: 'cpuManagerPolicyOptions',
    meaning:
      'Options of --cpu-manager-policy=static: full-pcpus-only=true gives only whole cores; distribute-cpus-across-numa=true (gate CPUManagerPolicyAlphaOptions) gives evenly from several NUMA nodes.',
  },
  'cpu-manager-reconcile-period': {
    type: 'duration',
    default: 10_000,
    section: 'Resources',
    configField: 'cpuManagerReconcilePeriod',
    meaning: 'How often the CPU sets of running containers are compared with the assignment.',
  },
  'memory-manager-policy': {
    type: 'string',
    default: 'None',
    section: 'Resources',
    oneOf: ['None', 'Static'],
    configField: 'memoryManagerPolicy',
    meaning:
      'Policy of assigning memory to containers; Static: containers of Guaranteed pods get memory of fixed NUMA nodes. Needs --reserved-memory. A change needs a drained node without the file memory_manager_state in --root-dir.',
  },
  'topology-manager-policy': {
    type: 'string',
    default: 'none',
    section: 'Resources',
    choices: topologyPolicies,
    configField: 'topologyManagerPolicy',
    meaning: 'Policy of aligning resources to NUMA nodes.',
  },
  'topology-manager-scope': {
    type: 'string',
    default: 'container',
    section: 'Resources',
    choices: topologyScopes,
    configField: 'topologyManagerScope',
    meaning: 'Unit of alignment to NUMA nodes.',
  },
  'memory-throttling-factor': {
    type: 'float',
    default: 0.8,
    section: 'Resources',
    configField: 'memoryThrottlingFactor',
    meaning:
      'Fraction of the memory limit of a container (default: of allocatable memory) at which it is throttled. Only with the gate MemoryQoS and cgroup version 2.',
  },
  'memory-swap-behavior': {
    type: 'string',
    default: '',
    oneOf: ['', 'LimitedSwap', 'UnlimitedSwap'],
    section: 'Resources',
    configField: 'memorySwap.swapBehavior',
    meaning:
      'With the gate NodeSwap: UnlimitedSwap does not limit swap; LimitedSwap limits the sum of memory and swap to the memory limit.',
  },
  'qos-reserved': {
    type: 'map',
    section: 'Resources',
    configField: 'qosReserved',
    meaning: 'Percentage of the memory requests of better QoS classes that lower classes cannot use.',
  },
  'enforce-node-allocatable': {
    type: 'strings',
    default: ['pods'],
    section: 'Resources',
    configField: 'enforceNodeAllocatable',
    meaning:
      'Cgroups whose limits are enforced: `pods` (allocatable resources), `system-reserved`, `orch-reserved`, or `none`.',
  },
  'system-reserved': {
    type: 'map',
    section: 'Resources',
    configField: 'systemReserved',
    meaning: 'Resources reserved for the system.',
  },
  'orch-reserved': {
    type: 'map',
    section: 'Resources',
    configField: 'orchReserved',
    meaning: 'Resources reserved for the daemons of the cluster.',
  },
  'system-reserved-cgroup': {
    type: 'string',
    default: '',
    section: 'Resources',
    configField: 'systemReservedCgroup',
    meaning: 'Cgroup of the system, which must exist; limited with `system-reserved` in --enforce-node-allocatable.',
  },
  'orch-reserved-cgroup': {
    type: 'string',
    default: '',
    section: 'Resources',
    configField: 'orchReservedCgroup',
    meaning:
      'Cgroup of the daemons of the cluster, which must exist; limited with `orch-reserved` in --enforce-node-allocatable.',
  },
  'reserved-cpus': {
    type: 'string',
    section: 'Resources',
    configField: 'reservedSystemCPUs',
    meaning:
      'CPUs that no container gets exclusively, such as 0-1,8. Their number replaces the CPUs of --system-reserved and --orch-reserved.',
  },
  'reserved-memory': {
    type: 'stringArray',
    section: 'Resources',
    configField: 'reservedMemory',
    meaning:
      'Memory of a NUMA node that no container gets with --memory-manager-policy=Static, such as 0:memory=1Gi,hugepages-2Mi=2Mi; repeatable. The sum of memory must be that of the reservations and the hard eviction threshold.',
  },
  'eviction-hard': {
    type: 'string',
    default: 'imagefs.available<15%,memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%',
    section: 'Eviction',
    configField: 'evictionHard',
    meaning:
      'Thresholds at which the node is under pressure and evicts pods at once, `signal<quantity`, comma separated; a quantity may be a percentage.',
  },
  'eviction-soft': {
    type: 'string',
    section: 'Eviction',
    configField: 'evictionSoft',
    meaning: 'Thresholds at which the node is under pressure, and evicts pods after a grace period.',
  },
  'eviction-soft-grace-period': {
    type: 'map',
    section: 'Eviction',
    configField: 'evictionSoftGracePeriod',
    meaning: 'How long each soft threshold must be crossed before pods are evicted, by signal.',
  },
  'eviction-minimum-reclaim': {
    type: 'map',
    section: 'Eviction',
    configField: 'evictionMinimumReclaim',
    meaning: 'Amount above a threshold that eviction must reach once it has begun, by signal.',
  },
  'eviction-max-pod-grace-period': {
    type: 'int',
    section: 'Eviction',
    configField: 'evictionMaxPodGracePeriod',
    meaning: 'Grace period of pods that a soft threshold evicts, in seconds; 0: their own.',
  },
  'eviction-pressure-transition-period': {
    type: 'duration',
    default: 300_000,
    section: 'Eviction',
    configField: 'evictionPressureTransitionPeriod',
    meaning: 'How long a pressure must be resolved before its condition ends.',
  },
  'kernel-memcg-notification': {
    type: 'bool',
    section: 'Eviction',
    configField: 'kernelMemcgNotification',
    meaning:
      'Notice crossed memory thresholds within a second, by reading the counters of the kernel each second, instead of every 10 seconds.',
  },
  'experimental-kernel-memcg-notification': {
    type: 'bool',
    section: 'Eviction',
    deprecated: 'will be removed in 1.24 or later',
    meaning: 'Older form of --kernel-memcg-notification.',
  },
  'max-open-files': {
    type: 'int',
    default: 1_000_000,
    section: 'Resources',
    configField: 'maxOpenFiles',
    meaning: 'Maximum number of open files of the agent; set with prlimit(1).',
  },
  'oom-score-adj': {
    type: 'int',
    default: -999,
    section: 'Resources',
    configField: 'oomScoreAdj',
    meaning: 'oom_score_adj of the agent.',
  },
  'protect-kernel-defaults': {
    type: 'bool',
    section: 'Resources',
    configField: 'protectKernelDefaults',
    meaning: 'Fail if kernel settings differ from the required ones; they are never changed.',
  },
  'fail-swap-on': {
    type: 'bool',
    default: true,
    section: 'Resources',
    configField: 'failSwapOn',
    meaning: 'Fail if swap is on.',
  },
} as const satisfies OptionTable;
