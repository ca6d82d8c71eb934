/** The node agent's options: one table, from which parsing, help and validation come. */
import { featureGateOptions } from '#daemon/options/groups/feature-gates.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { legacyLoggingOptions, loggingOptions } from '#daemon/options/groups/logging.js';
import { tracingOptions } from '#daemon/options/groups/tracing.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { generalOptions } from '#nodeagent/options/general.js';
import { podsOptions } from '#nodeagent/options/pods.js';
import { resourcesOptions } from '#nodeagent/options/resources.js';
import { serviceProxyOptions } from '#nodeagent/options/service-proxy.js';
import { servingOptions } from '#nodeagent/options/serving.js';

const section = 'Pod network';

/** Options of the network of pods, which runs beside the agent in its process. */
export const podNetworkOptions = {
  'pod-network': {
    type: 'bool',
    section,
    meaning:
      'Keep routes to the pods of other nodes, and a tunnel (VXLAN, UDP port 8472) to those of nodes behind routers, with ip, bridge and iptables. Off: another program has to.',
  },
  'pod-network-cluster-cidr': {
    type: 'strings',
    section,
    meaning: 'Range of the addresses of all pods, or one of each family.',
  },
  'pod-network-nodes': {
    type: 'strings',
    section,
    meaning: 'Names of all nodes that are this machine. Default: this one alone.',
  },
  'pod-network-tunnel': {
    type: 'string',
    default: '',
    section,
    meaning:
      'Name of the interface of the tunnel, at most 15 characters. Default: orch-vxlan, or kube-vxlan in the other dialect.',
  },
} as const satisfies OptionTable;

const common = {
  section: 'Deprecated',
  deprecated: 'it belongs to a metrics collector and will be removed',
  inert: 'the agent measures containers itself',
} as const;

/**
 * Options of a metrics collector that 1.24 has within its node agent, whose flags became the agent's by mistake:
 * taken, without effect.
 */
export const collectorOptions = {
  'application-metrics-count-limit': { ...common, type: 'int', default: 100, meaning: 'Metrics of a container.' },
  'boot-id-file': {
    ...common,
    type: 'string',
    default: '/proc/sys/kernel/random/boot_id',
    meaning: 'Files with the boot ID, the first that is there.',
  },
  'container-hints': {
    ...common,
    type: 'string',
    default: '/etc/cadvisor/container_hints.json',
    meaning: 'File of hints.',
  },
  containerd: {
    ...common,
    type: 'string',
    default: '/run/containerd/containerd.sock',
    meaning: 'Socket of containerd.',
  },
  'containerd-namespace': { ...common, type: 'string', default: 'k8s.io', meaning: 'Namespace in containerd.' },
  'enable-load-reader': { ...common, type: 'bool', meaning: 'Read the load of CPUs.' },
  'event-storage-age-limit': { ...common, type: 'string', default: 'default=0', meaning: 'Age of kept events.' },
  'event-storage-event-limit': { ...common, type: 'string', default: 'default=0', meaning: 'Number of kept events.' },
  'global-housekeeping-interval': {
    ...common,
    type: 'duration',
    default: 60_000,
    meaning: 'Pause between two looks at all containers.',
  },
  'housekeeping-interval': {
    type: 'duration',
    default: 10_000,
    section: common.section,
    inert: common.inert,
    meaning: 'Pause between two looks at a container.',
  },
  'log-cadvisor-usage': { ...common, type: 'bool', meaning: 'Log what the collector uses.' },
  'machine-id-file': {
    ...common,
    type: 'string',
    default: '/etc/machine-id,/var/lib/dbus/machine-id',
    meaning: 'Files with the machine ID, the first that is there.',
  },
  'storage-driver-buffer-duration': { ...common, type: 'duration', default: 60_000, meaning: 'How long it buffers.' },
  'storage-driver-db': { ...common, type: 'string', default: 'cadvisor', meaning: 'Name of its database.' },
  'storage-driver-host': { ...common, type: 'string', default: 'localhost:8086', meaning: 'Place of its database.' },
  'storage-driver-password': { ...common, type: 'string', default: 'root', meaning: 'Password of its database.' },
  'storage-driver-secure': { ...common, type: 'bool', meaning: 'Connect with its database by TLS.' },
  'storage-driver-table': { ...common, type: 'string', default: 'stats', meaning: 'Table of its database.' },
  'storage-driver-user': { ...common, type: 'string', default: 'root', meaning: 'User of its database.' },
} as const satisfies OptionTable;

export const nodeAgentOptions = {
  ...genericOptions,
  ...generalOptions,
  ...servingOptions,
  ...resourcesOptions,
  ...podsOptions,
  ...serviceProxyOptions,
  ...podNetworkOptions,
  ...collectorOptions,
  ...featureGateOptions,
  ...loggingOptions,
  ...legacyLoggingOptions,
  ...tracingOptions,
} as const satisfies OptionTable;

export type NodeAgentOptions = OptionValues<typeof nodeAgentOptions>;
