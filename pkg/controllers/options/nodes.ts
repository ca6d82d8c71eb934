/** Options of controllers for nodes, networks and garbage collection. */
import { rangeErrors } from '#controllers/nodeipam/ranges.js';
import { selectControllers } from '#controllers/options/names.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

const nodes = 'Nodes';
const networks = 'Networks';
const garbage = 'Garbage';

export const nodeOptions = {
  'node-eviction-rate': {
    type: 'float',
    default: 0.1,
    section: nodes,
    meaning: 'Eviction rate in a healthy zone: failed nodes per second whose pods are evicted.',
  },
  'secondary-node-eviction-rate': {
    type: 'float',
    default: 0.01,
    section: nodes,
    meaning: 'Eviction rate in an unhealthy zone; zero if the zone is not larger than --large-cluster-size-threshold.',
  },
  'large-cluster-size-threshold': {
    type: 'int',
    min: 0,
    default: 50,
    section: nodes,
    meaning: 'Number of nodes above which a zone counts as large.',
  },
  'unhealthy-zone-threshold': {
    type: 'float',
    default: 0.55,
    section: nodes,
    meaning: 'A zone is unhealthy if at least this fraction of its nodes, and at least three, are not ready.',
  },
  'node-monitor-grace-period': {
    type: 'duration',
    default: 40_000,
    section: nodes,
    meaning:
      'A running node is unhealthy after this time without status reports; use a multiple of the reporting interval.',
  },
  'node-monitor-period': {
    type: 'duration',
    min: 0,
    default: 5000,
    section: nodes,
    meaning: 'Delay between the failure of a node and the eviction of its pods.',
  },
  'node-startup-grace-period': {
    type: 'duration',
    default: 60_000,
    section: nodes,
    meaning: 'A new node is unhealthy after this time without its first status report.',
  },
  'pod-eviction-timeout': {
    type: 'duration',
    min: 0,
    default: 300_000,
    section: nodes,
    meaning: 'Time until the pods of a node that is not ready are deleted, if --enable-taint-manager is off.',
  },
  'enable-taint-manager': {
    type: 'bool',
    default: true,
    section: nodes,
    meaning: 'Evict pods that do not tolerate the NoExecute taints of their node.',
  },
  'allocate-node-cidrs': {
    type: 'bool',
    section: networks,
    meaning: 'Allocate a pod range from --cluster-cidr to each node.',
  },
  'cidr-allocator-type': {
    type: 'string',
    default: 'RangeAllocator',
    section: networks,
    meaning: 'Allocator of node ranges: RangeAllocator; the other types of 1.24 need a cloud provider.',
  },
  'cluster-cidr': {
    type: 'string',
    section: networks,
    meaning: 'Pod range of the cluster, or one per family, primary first; requires --allocate-node-cidrs.',
  },
  'service-cluster-ip-range': {
    type: 'string',
    section: networks,
    meaning: 'Service range, or one per family, excluded from node ranges; requires --allocate-node-cidrs.',
  },
  'node-cidr-mask-size': {
    type: 'int',
    min: 0,
    section: networks,
    meaning: "Prefix length of a node's range; by default 24 for IPv4 and 64 for IPv6.",
  },
  'node-cidr-mask-size-ipv4': {
    type: 'int',
    min: 0,
    default: 24,
    section: networks,
    meaning: "Prefix length of a node's IPv4 range in a dual-stack cluster.",
  },
  'node-cidr-mask-size-ipv6': {
    type: 'int',
    min: 0,
    default: 64,
    section: networks,
    meaning: "Prefix length of a node's IPv6 range in a dual-stack cluster.",
  },
  'configure-cloud-routes': {
    type: 'bool',
    default: true,
    section: networks,
    meaning: 'Configure routes to node ranges at the cloud provider.',
  },
  'route-reconciliation-period': {
    type: 'duration',
    min: 0,
    default: 10_000,
    section: networks,
    meaning: 'Interval between reconciliations of cloud routes.',
  },
  'cloud-provider': {
    type: 'string',
    default: '',
    section: networks,
    meaning: 'Cloud provider: bare-metal, or external if its controllers run in another program; empty for none.',
  },
  'cloud-config': {
    type: 'string',
    default: '',
    section: networks,
    meaning: "Cloud provider's configuration file.",
  },
  'vendor-container-registry-config': {
    type: 'string',
    inert: 'the controller manager does not use registries, and no vendor’s service is built in',
    section: networks,
    meaning: 'Configuration file of a container registry service.',
  },
  'endpoint-updates-batch-period': {
    type: 'duration',
    min: 0,
    section: networks,
    meaning: 'Delay that batches pod changes before endpoints are updated.',
  },
  'endpointslice-updates-batch-period': {
    type: 'duration',
    min: 0,
    section: networks,
    meaning: 'Delay that batches pod changes before endpoint slices are updated.',
  },
  'mirroring-endpointslice-updates-batch-period': {
    type: 'duration',
    min: 0,
    section: networks,
    meaning: 'Delay that batches changes of endpoints before they are mirrored.',
  },
  'max-endpoints-per-slice': {
    type: 'int',
    default: 100,
    section: networks,
    meaning: 'Maximum number of endpoints per slice.',
  },
  'mirroring-max-endpoints-per-subset': {
    type: 'int',
    default: 1000,
    section: networks,
    meaning: 'Maximum number of mirrored addresses per subset.',
  },
  'terminated-pod-gc-threshold': {
    type: 'int',
    default: 12_500,
    section: garbage,
    meaning: 'Number of finished pods to keep; the oldest are deleted. Zero or less keeps all.',
  },
  'enable-garbage-collector': {
    type: 'bool',
    default: true,
    section: garbage,
    meaning: 'Delete objects whose owners no longer exist; must equal the API server’s setting.',
  },
  'namespace-sync-period': {
    type: 'duration',
    min: 0,
    default: 300_000,
    section: garbage,
    meaning: 'Resync interval for namespaces in deletion.',
  },
  'resource-quota-sync-period': {
    type: 'duration',
    min: 0,
    default: 300_000,
    section: garbage,
    meaning: 'Interval between full recounts of quota usage.',
  },
} as const satisfies OptionTable;

/** Validates these options, as 1.24 does. */
export const nodeRules: Rule<OptionValues<typeof nodeOptions> & { readonly controllers: readonly string[] }> = (
  values,
  given,
) => {
  const messages: string[] = [];
  if ((values['service-cluster-ip-range'] ?? '').split(',').length > 2) {
    messages.push('--service-cluster-ip-range can not contain more than two entries');
  }
  if (values['allocate-node-cidrs'] && selectControllers(values.controllers).selected.includes('nodeipam')) {
    messages.push(...rangeErrors(values, given));
  }
  for (const name of ['node-eviction-rate', 'secondary-node-eviction-rate', 'unhealthy-zone-threshold'] as const) {
    if (values[name] < 0) messages.push(`--${name} must not be negative`);
  }
  for (const name of ['node-monitor-grace-period', 'node-startup-grace-period'] as const) {
    if (values[name] <= 0) messages.push(`--${name} must be greater than zero`);
  }
  return messages;
};
