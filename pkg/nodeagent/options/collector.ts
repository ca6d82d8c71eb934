/**
 * Options of a metrics collector that 1.24 has within its node agent, whose flags became the agent's by mistake: taken,
 * without effect.
 */
import type { OptionTable } from '#daemon/options/option.js';

const common = {
  section: 'Deprecated',
  deprecated: 'it belongs to a metrics collector and will be removed',
  inert: 'the agent measures containers itself',
} as const;

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
