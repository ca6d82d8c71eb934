/**
 * `/metrics/cadvisor` of release 1.24: cAdvisor's metrics of containers, pods and the machine, as far as kernel and
 * runtime provide them. Pure.
 */
import type { Family } from '#daemon/metrics/exposition.js';
import type { InterfaceUsage } from '#nodeagent/node/network-usage.js';
import { diskFamilies } from '#nodeagent/stats/cadvisor-disks.js';
import { containerFamilies, type Subject } from '#nodeagent/stats/cadvisor-rows.js';
import type { CgroupDetails, ContainerUsage, NodeUsage, PodUsage } from '#nodeagent/stats/collector.js';

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

export interface CadvisorContext {
  /** The agent's version. */
  readonly version: string;
  /** By cgroup path. */
  readonly details: ReadonlyMap<string, CgroupDetails>;
}

/** `usage`: undefined if it could not be measured. */
export function cadvisorFamilies(usage: NodeUsage | undefined, { version, details }: CadvisorContext): Family[] {
  const error = {
    name: 'container_scrape_error',
    help: '1 if there was an error while getting container metrics, 0 otherwise',
    type: 'gauge',
    samples: [{ value: usage === undefined ? 1 : 0 }],
  } as const;
  if (usage === undefined) return [error];
  const subjects = [ofNode(usage), ...usage.pods.flatMap((pod) => [ofPod(pod), ...ofContainers(pod)])].map(
    (subject) => ({
      ...subject,
      details: details.get(subject.labels.id),
    }),
  );
  return [
    versionFamily(usage, version),
    ...containerFamilies(subjects),
    ...diskFamilies(subjects, usage),
    error,
    ...networkFamilies(usage),
    ...machine(usage),
  ];
}

const noLabels = { container: '', id: '', image: '', name: '', namespace: '', pod: '' };

type SubjectUsage = Omit<Subject, 'details'>;

function ofNode({ host, cpuSeconds, workingSetBytes, timestampMs }: NodeUsage): SubjectUsage {
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

function ofPod({
  name: pod,
  namespace,
  path,
  cgroup,
  cpuSeconds,
  workingSetBytes,
  timestampMs,
}: PodUsage): SubjectUsage {
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

function ofContainers({ name: pod, namespace, containers }: PodUsage): SubjectUsage[] {
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
): Subject['labels'] {
  return { container, id, image, name, namespace, pod };
}

/** The network of a pod is its sandbox's, as in cAdvisor. */
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

/** The agent's version replaces cAdvisor's. */
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
