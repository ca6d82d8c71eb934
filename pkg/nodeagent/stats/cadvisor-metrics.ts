/**
 * `/metrics/cadvisor` of release 1.24: the containers, pods and the machine under the names and labels of cAdvisor, as far
 * as kernel and runtime count. Pure.
 */
import type { Family, Sample } from '#daemon/metrics/exposition.js';
import type { InterfaceUsage } from '#nodeagent/node/network-usage.js';
import type { CgroupUsage } from '#nodeagent/stats/cgroup-usage.js';
import type { ContainerUsage, NodeUsage, PodUsage } from '#nodeagent/stats/collector.js';

/** One line of a metric: what it is of, and what is known of that. */
interface Subject {
  readonly labels: Readonly<Record<string, string>>;
  readonly timestampMs: number;
  readonly startedMs: number | undefined;
  readonly cpuSeconds: number;
  readonly userSeconds: number | undefined;
  readonly systemSeconds: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly workingSetBytes: number;
  readonly rssBytes: number | undefined;
  readonly writtenBytes: number | undefined;
  readonly cgroup: CgroupUsage | undefined;
}

type Row = readonly [
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  value: (subject: Subject) => number | undefined,
  more?: Readonly<Record<string, string>>,
];

const allCPUs = { cpu: 'total' };

const rows: readonly Row[] = [
  [
    'container_cpu_usage_seconds_total',
    'counter',
    'Cumulative cpu time consumed in seconds.',
    (s) => s.cpuSeconds,
    allCPUs,
  ],
  [
    'container_cpu_user_seconds_total',
    'counter',
    'Cumulative user cpu time consumed in seconds.',
    (s) => s.userSeconds,
  ],
  [
    'container_cpu_system_seconds_total',
    'counter',
    'Cumulative system cpu time consumed in seconds.',
    (s) => s.systemSeconds,
  ],
  [
    'container_cpu_cfs_periods_total',
    'counter',
    'Number of elapsed enforcement period intervals.',
    (s) => ofQuota(s)?.periods,
  ],
  [
    'container_cpu_cfs_throttled_periods_total',
    'counter',
    'Number of throttled period intervals.',
    (s) => ofQuota(s)?.throttledPeriods,
  ],
  [
    'container_cpu_cfs_throttled_seconds_total',
    'counter',
    'Total time duration the container has been throttled.',
    (s) => ofQuota(s)?.throttledSeconds,
  ],
  ['container_fs_usage_bytes', 'gauge', 'Bytes that the container wrote into its own layer.', (s) => s.writtenBytes],
  [
    'container_last_seen',
    'gauge',
    'Last time a container was seen by the exporter',
    (s) => Math.floor(s.timestampMs / 1000),
  ],
  ['container_memory_cache', 'gauge', 'Number of bytes of page cache memory.', (s) => s.cgroup?.memory.cacheBytes],
  ['container_memory_failcnt', 'counter', 'Number of memory usage hits limits', (s) => s.cgroup?.memory.failures],
  [
    'container_memory_failures_total',
    'counter',
    'Cumulative count of memory allocation failures.',
    (s) => s.cgroup?.memory.pageFaults,
    { failure_type: 'pgfault', scope: 'hierarchy' },
  ],
  [
    'container_memory_failures_total',
    'counter',
    'Cumulative count of memory allocation failures.',
    (s) => s.cgroup?.memory.majorPageFaults,
    { failure_type: 'pgmajfault', scope: 'hierarchy' },
  ],
  [
    'container_memory_mapped_file',
    'gauge',
    'Size of memory mapped files in bytes.',
    (s) => s.cgroup?.memory.mappedFileBytes,
  ],
  [
    'container_memory_max_usage_bytes',
    'gauge',
    'Maximum memory usage recorded in bytes',
    (s) => s.cgroup?.memory.maxUsageBytes,
  ],
  ['container_memory_rss', 'gauge', 'Size of RSS in bytes.', (s) => s.rssBytes],
  ['container_memory_swap', 'gauge', 'Container swap usage in bytes.', (s) => s.cgroup?.memory.swapBytes],
  [
    'container_memory_usage_bytes',
    'gauge',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
    (s) => s.memoryBytes,
  ],
  ['container_memory_working_set_bytes', 'gauge', 'Current working set in bytes.', (s) => s.workingSetBytes],
  ['container_processes', 'gauge', 'Number of processes running inside the container.', (s) => s.cgroup?.processes],
  ['container_spec_cpu_period', 'gauge', 'CPU period of the container.', (s) => s.cgroup?.limits.cpuPeriodMicros],
  ['container_spec_cpu_quota', 'gauge', 'CPU quota of the container.', (s) => s.cgroup?.limits.cpuQuotaMicros],
  ['container_spec_cpu_shares', 'gauge', 'CPU share of the container.', (s) => s.cgroup?.limits.cpuShares],
  [
    'container_spec_memory_limit_bytes',
    'gauge',
    'Memory limit for the container.',
    (s) => (s.cgroup === undefined ? undefined : (s.cgroup.limits.memoryBytes ?? 0)),
  ],
  [
    'container_start_time_seconds',
    'gauge',
    'Start time of the container since unix epoch in seconds.',
    (s) => (s.startedMs === undefined ? undefined : s.startedMs / 1000),
  ],
];

/** Kept only for those with a quota, as cAdvisor does. */
function ofQuota({ cgroup }: Subject): CgroupUsage['cpu'] | undefined {
  return cgroup?.limits.cpuQuotaMicros === undefined ? undefined : cgroup.cpu;
}

type Counter = (usage: InterfaceUsage) => number;
const networkRows: readonly (readonly [name: string, help: string, value: Counter])[] = [
  ['receive_bytes', 'Cumulative count of bytes received', ({ received }) => received.bytes],
  ['receive_errors', 'Cumulative count of errors encountered while receiving', ({ received }) => received.errors],
  [
    'receive_packets_dropped',
    'Cumulative count of packets dropped while receiving',
    ({ received }) => received.dropped,
  ],
  ['receive_packets', 'Cumulative count of packets received', ({ received }) => received.packets],
  ['transmit_bytes', 'Cumulative count of bytes transmitted', ({ transmitted }) => transmitted.bytes],
  [
    'transmit_errors',
    'Cumulative count of errors encountered while transmitting',
    ({ transmitted }) => transmitted.errors,
  ],
  [
    'transmit_packets_dropped',
    'Cumulative count of packets dropped while transmitting',
    ({ transmitted }) => transmitted.dropped,
  ],
  ['transmit_packets', 'Cumulative count of packets transmitted', ({ transmitted }) => transmitted.packets],
];

/** `usage`: undefined when it could not be measured. `version`: the agent's. */
export function cadvisorFamilies(usage: NodeUsage | undefined, version: string): Family[] {
  const error = {
    name: 'container_scrape_error',
    help: '1 if there was an error while getting container metrics, 0 otherwise',
    type: 'gauge',
    samples: [{ value: usage === undefined ? 1 : 0 }],
  } as const;
  if (usage === undefined) return [error];
  const subjects = [ofNode(usage), ...usage.pods.flatMap((pod) => [ofPod(pod), ...ofContainers(pod)])];
  return [
    versionFamily(usage, version),
    ...containerFamilies(subjects),
    error,
    ...networkFamilies(usage),
    ...machine(usage),
  ];
}

function containerFamilies(subjects: readonly Subject[]): Family[] {
  const families = new Map<string, Family & { samples: Sample[] }>();
  for (const [name, type, help, value, more] of rows) {
    const family = families.get(name) ?? { name, type, help, samples: [] };
    families.set(name, family);
    for (const subject of subjects) {
      const number = value(subject);
      if (number === undefined) continue;
      family.samples.push({ labels: { ...subject.labels, ...more }, value: number, timestampMs: subject.timestampMs });
    }
  }
  return [...families.values()];
}

const noLabels = { container: '', id: '', image: '', name: '', namespace: '', pod: '' };

function ofNode({ host, cpuSeconds, workingSetBytes, timestampMs }: NodeUsage): Subject {
  return {
    labels: { ...noLabels, id: '/' },
    timestampMs,
    startedMs: undefined,
    cpuSeconds,
    userSeconds: host?.userSeconds,
    systemSeconds: host?.systemSeconds,
    memoryBytes: undefined,
    workingSetBytes,
    rssBytes: undefined,
    writtenBytes: undefined,
    cgroup: undefined,
  };
}

function ofPod({ name: pod, namespace, path, cgroup, cpuSeconds, workingSetBytes, timestampMs }: PodUsage): Subject {
  return {
    labels: { ...noLabels, id: path, namespace, pod },
    timestampMs,
    startedMs: undefined,
    cpuSeconds,
    userSeconds: cgroup?.cpu.userSeconds,
    systemSeconds: cgroup?.cpu.systemSeconds,
    memoryBytes: cgroup?.memory.usageBytes,
    workingSetBytes,
    rssBytes: cgroup?.memory.rssBytes,
    writtenBytes: undefined,
    cgroup,
  };
}

function ofContainers({ name: pod, namespace, containers }: PodUsage): Subject[] {
  return containers.map((each) => ({
    ...each,
    labels: containerLabels(each, { pod, namespace }),
    userSeconds: each.cgroup?.cpu.userSeconds,
    systemSeconds: each.cgroup?.cpu.systemSeconds,
  }));
}

function containerLabels(
  { name: container, id: name, path: id, image }: ContainerUsage,
  { pod, namespace }: { readonly pod: string; readonly namespace: string },
): Record<string, string> {
  return { container, id, image, name, namespace, pod };
}

/** A pod's network is its sandbox's, as cAdvisor sees it. */
function networkFamilies({ pods, host, timestampMs }: NodeUsage): Family[] {
  const owners = [
    { labels: { ...noLabels, id: '/' }, network: host?.network ?? [], timestampMs },
    ...pods.map((pod) => {
      const sandbox = pod.containers.find(({ name }) => name === '');
      const { name, namespace } = pod;
      const labels =
        sandbox === undefined
          ? { ...noLabels, id: pod.path, namespace, pod: name }
          : containerLabels(sandbox, { pod: name, namespace });
      return { labels, network: pod.network, timestampMs: pod.timestampMs };
    }),
  ];
  return networkRows.map(([name, help, value]) => ({
    name: `container_network_${name}_total`,
    help,
    type: 'counter',
    samples: owners.flatMap((owner) =>
      owner.network.map((each) => ({
        labels: { ...owner.labels, interface: each.name },
        value: value(each),
        timestampMs: owner.timestampMs,
      })),
    ),
  }));
}

function machine({ facts, host }: NodeUsage): Family[] {
  const labels = { boot_id: facts.bootID, machine_id: facts.machineID, system_uuid: facts.systemUUID };
  const family = (name: string, help: string, value: number | undefined): Family => ({
    name,
    help,
    type: 'gauge',
    samples: value === undefined ? [] : [{ labels, value }],
  });
  return [
    family('machine_cpu_cores', 'Number of logical CPU cores.', facts.cpus),
    family('machine_cpu_physical_cores', 'Number of physical CPU cores.', host?.physicalCores),
    family('machine_cpu_sockets', 'Number of CPU sockets.', host?.sockets),
    family('machine_memory_bytes', 'Amount of memory installed on the machine.', facts.memoryBytes),
    {
      name: 'machine_scrape_error',
      help: '1 if there was an error while getting machine metrics, 0 otherwise.',
      type: 'gauge',
      samples: [{ value: 0 }],
    },
    family('machine_swap_bytes', 'Amount of swap memory available on the machine.', host?.swapBytes),
  ];
}

/** There is no cAdvisor in it: the version is the agent's. */
function versionFamily({ facts }: NodeUsage, version: string): Family {
  const labels = {
    cadvisorRevision: '',
    cadvisorVersion: version,
    dockerVersion: '',
    kernelVersion: facts.kernelVersion,
    osVersion: facts.osImage,
  };
  return {
    name: 'cadvisor_version_info',
    help: 'A metric with a constant value of 1; the labels tell the versions of kernel, system and agent.',
    type: 'gauge',
    samples: [{ labels, value: 1 }],
  };
}
