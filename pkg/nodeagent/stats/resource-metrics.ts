/** `/metrics/resource` of release 1.24: CPU and memory of the node, its pods and containers. Pure. */
import type { Family, Sample } from '#daemon/metrics/exposition.js';
import type { ContainerUsage, NodeUsage, PodUsage } from '#nodeagent/stats/collector.js';

/** `usage`: undefined if it could not be measured. */
export function resourceFamilies(usage: NodeUsage | undefined): Family[] {
  const error = { name: 'scrape_error', type: 'gauge', samples: [{ value: usage === undefined ? 1 : 0 }] } as const;
  const help = '1 if there was an error while getting container metrics, 0 otherwise';
  if (usage === undefined) return [{ ...error, help }];
  const { timestampMs } = usage;
  return [
    {
      name: 'container_cpu_usage_seconds_total',
      help: 'Cumulative cpu time consumed by the container in core-seconds',
      type: 'counter',
      samples: ofContainers(usage, ({ cpuSeconds }) => cpuSeconds),
    },
    {
      name: 'container_memory_working_set_bytes',
      help: 'Current working set of the container in bytes',
      type: 'gauge',
      samples: ofContainers(usage, ({ workingSetBytes }) => workingSetBytes),
    },
    {
      name: 'container_start_time_seconds',
      help: 'Start time of the container since unix epoch in seconds',
      type: 'gauge',
      samples: ofContainers(usage, ({ startedMs }) => startedMs / 1000),
    },
    {
      name: 'node_cpu_usage_seconds_total',
      help: 'Cumulative cpu time consumed by the node in core-seconds',
      type: 'counter',
      samples: [{ value: usage.cpuSeconds, timestampMs }],
    },
    {
      name: 'node_memory_working_set_bytes',
      help: 'Current working set of the node in bytes',
      type: 'gauge',
      samples: [{ value: usage.workingSetBytes, timestampMs }],
    },
    {
      name: 'pod_cpu_usage_seconds_total',
      help: 'Cumulative cpu time consumed by the pod in core-seconds',
      type: 'counter',
      samples: ofPods(usage, ({ cpuSeconds }) => cpuSeconds),
    },
    {
      name: 'pod_memory_working_set_bytes',
      help: 'Current working set of the pod in bytes',
      type: 'gauge',
      samples: ofPods(usage, ({ workingSetBytes }) => workingSetBytes),
    },
    { ...error, help },
  ];
}

function ofContainers({ pods }: NodeUsage, value: (container: ContainerUsage) => number): Sample[] {
  return pods.flatMap(({ name: pod, namespace, containers }) =>
    containers
      .filter(({ name }) => name !== '')
      .map((each) => ({
        labels: { container: each.name, namespace, pod },
        value: value(each),
        timestampMs: each.timestampMs,
      })),
  );
}

function ofPods({ pods }: NodeUsage, value: (pod: PodUsage) => number): Sample[] {
  return pods.map((each) => ({
    labels: { namespace: each.namespace, pod: each.name },
    value: value(each),
    timestampMs: each.timestampMs,
  }));
}
