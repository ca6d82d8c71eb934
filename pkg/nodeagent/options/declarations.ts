/** The table of the node agent's options, from which parsing, help and validation are derived. */
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

/** Options of the pod network, which runs beside the agent in its process. */
export const podNetworkOptions = {
  'pod-network': {
    type: 'bool',
    section,
    meaning:
      'Maintain routes to pods of other nodes, and a tunnel (VXLAN, UDP port 8472) to pods of nodes behind routers, with ip, bridge and iptables. If false, another program must do that.',
  },
  'pod-network-cluster-cidr': {
    type: 'strings',
    section,
    meaning: 'Address range of all pods, or one of each family.',
  },
  'pod-network-nodes': {
    type: 'strings',
    section,
    meaning: 'Names of all nodes on this machine. Default: only this node.',
  },
  'pod-network-tunnel': {
    type: 'string',
    default: '',
    section,
    meaning:
      'Name of the tunnel interface, at most 15 characters. Default: orch-vxlan, or kube-vxlan in the other dialect.',
  },
} as const satisfies OptionTable;

const common = {
  section: 'Deprecated',
  deprecated: 'it belongs to a metrics collector and will be removed',
  inert: 'the agent measures containers itself',
} as const;

/** Options of the metrics collector inside 1.24's node agent, exposed there by mistake: accepted, without effect. */
export const collectorOptions = {
  'application-metrics-count-limit': { ...common, type: 'int', default: 100, meaning: 'Metrics per container.' },
  'boot-id-file': {
    ...common,
    type: 'string',
    default: '/proc/sys/kernel/random/boot_id',
    meaning: 'Files with the boot ID; the first existing one counts.',
  },
  'container-hints': {
    ...common,
    type: 'string',
    default: '/etc/cadvisor/container_hints.json',
    meaning: 'File of container hints.',
  },
  containerd: {
    ...common,
    type: 'string',
    default: '/run/containerd/containerd.sock',
    meaning: 'Socket of containerd.',
  },
  'containerd-namespace': { ...common, type: 'string', default: 'k8s.io', meaning: 'Namespace in containerd.' },
  'enable-load-reader': { ...common, type: 'bool', meaning: 'Read the CPU load.' },
  'event-storage-age-limit': { ...common, type: 'string', default: 'default=0', meaning: 'Age limit of events.' },
  'event-storage-event-limit': { ...common, type: 'string', default: 'default=0', meaning: 'Limit of stored events.' },
  'global-housekeeping-interval': {
    ...common,
    type: 'duration',
    default: 60_000,
    meaning: 'Interval between checks of all containers.',
  },
  'housekeeping-interval': {
    type: 'duration',
    default: 10_000,
    section: common.section,
    inert: common.inert,
    meaning: 'Interval between checks of a container.',
  },
  'log-cadvisor-usage': { ...common, type: 'bool', meaning: 'Log the resource usage of the collector.' },
  'machine-id-file': {
    ...common,
    type: 'string',
    default: '/etc/machine-id,/var/lib/dbus/machine-id',
    meaning: 'Files with the machine ID; the first existing one counts.',
  },
  'storage-driver-buffer-duration': { ...common, type: 'duration', default: 60_000, meaning: 'Buffer duration.' },
  'storage-driver-db': { ...common, type: 'string', default: 'cadvisor', meaning: 'Database name.' },
  'storage-driver-host': { ...common, type: 'string', default: 'localhost:8086', meaning: 'Database host.' },
  'storage-driver-password': { ...common, type: 'string', default: 'root', meaning: 'Database password.' },
  'storage-driver-secure': { ...common, type: 'bool', meaning: 'Use TLS for the database.' },
  'storage-driver-table': { ...common, type: 'string', default: 'stats', meaning: 'Database table.' },
  'storage-driver-user': { ...common, type: 'string', default: 'root', meaning: 'Database user.' },
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
