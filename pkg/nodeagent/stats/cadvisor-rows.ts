/** Metrics of containers, pods and the machine in `/metrics/cadvisor`: a table of names and their sources. */
import type { Family, Sample } from '#daemon/metrics/exposition.js';
import type { CgroupUsage } from '#nodeagent/stats/cgroup-usage.js';
import type { CgroupDetails } from '#nodeagent/stats/collector.js';
import { taskStateNames } from '#nodeagent/stats/process-stats.js';

/** A container, pod or machine with its labels and measurements. */
export interface Subject {
  readonly labels: Readonly<Record<'container' | 'id' | 'image' | 'name' | 'namespace' | 'pod', string>>;
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
  readonly details: CgroupDetails | undefined;
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
  [
    'container_cpu_load_average_10s',
    'gauge',
    'Value of container cpu load average over the last 10 seconds.',
    (s) => s.details?.load,
  ],
  [
    'container_file_descriptors',
    'gauge',
    'Number of open file descriptors for the container.',
    (s) => s.details?.files.descriptors,
  ],
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
    (s) => s.cgroup?.memory.ownPageFaults,
    { failure_type: 'pgfault', scope: 'container' },
  ],
  [
    'container_memory_failures_total',
    'counter',
    'Cumulative count of memory allocation failures.',
    (s) => s.cgroup?.memory.ownMajorPageFaults,
    { failure_type: 'pgmajfault', scope: 'container' },
  ],
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
  [
    'container_oom_events_total',
    'counter',
    'Count of out of memory events observed for the container',
    (s) => s.cgroup?.memory.oomKills,
  ],
  ['container_processes', 'gauge', 'Number of processes running inside the container.', (s) => s.cgroup?.processes],
  ['container_sockets', 'gauge', 'Number of open sockets for the container.', (s) => s.details?.files.sockets],
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
    'container_spec_memory_reservation_limit_bytes',
    'gauge',
    'Memory reservation limit for the container.',
    (s) => s.cgroup?.limits.memoryReservationBytes,
  ],
  [
    'container_spec_memory_swap_limit_bytes',
    'gauge',
    'Memory swap limit for the container.',
    (s) => (s.cgroup === undefined ? undefined : (s.cgroup.limits.memorySwapBytes ?? 0)),
  ],
  [
    'container_start_time_seconds',
    'gauge',
    'Start time of the container since unix epoch in seconds.',
    (s) => (s.startedMs === undefined ? undefined : s.startedMs / 1000),
  ],
  ...taskStateNames.map(
    (state): Row => [
      'container_tasks_state',
      'gauge',
      'Number of tasks in given state',
      (s) => s.details?.tasks[state],
      { state },
    ],
  ),
  ['container_threads', 'gauge', 'Number of threads running inside the container', (s) => s.cgroup?.threads],
  [
    'container_threads_max',
    'gauge',
    'Maximum number of threads allowed inside the container, infinity if value is zero',
    (s) => (s.cgroup?.threads === undefined ? undefined : (s.cgroup.maxThreads ?? 0)),
  ],
  [
    'container_ulimits_soft',
    'gauge',
    'Soft ulimit values for the container root process. Unlimited if -1, except priority and nice',
    (s) => (s.cgroup === undefined || s.cgroup.processes === 0 ? undefined : (s.details?.files.limit ?? -1)),
    { ulimit: 'max_open_files' },
  ],
];

/** Only for cgroups with a quota, as in cAdvisor. */
function ofQuota({ cgroup }: Subject): CgroupUsage['cpu'] | undefined {
  return cgroup?.limits.cpuQuotaMicros === undefined ? undefined : cgroup.cpu;
}

/** Families without values have no samples. */
export function containerFamilies(subjects: readonly Subject[]): Family[] {
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
