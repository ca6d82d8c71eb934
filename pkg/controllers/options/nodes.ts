/** Options of the controllers of nodes, networks and garbage. */
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
    meaning: 'Nodes per second whose pods are evicted when they fail, in a healthy zone.',
  },
  'secondary-node-eviction-rate': {
    type: 'float',
    default: 0.01,
    section: nodes,
    meaning: 'The same in an unhealthy zone; zero when the zone is not larger than --large-cluster-size-threshold.',
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
    meaning: 'Fraction of nodes not ready, at least three, from which a zone is unhealthy.',
  },
  'node-monitor-grace-period': {
    type: 'duration',
    default: 40_000,
    section: nodes,
    meaning: 'How long a running node may be silent before it is unhealthy; several times the interval of its reports.',
  },
  'node-monitor-period': {
    type: 'duration',
    min: 0,
    default: 5000,
    section: nodes,
    meaning: 'How long the trouble of a node is watched before its pods are evicted.',
  },
  'node-startup-grace-period': {
    type: 'duration',
    default: 60_000,
    section: nodes,
    meaning: 'How long a node that never reported may be silent before it is unhealthy.',
  },
  'pod-eviction-timeout': {
    type: 'duration',
    min: 0,
    default: 300_000,
    section: nodes,
    meaning: 'How long a node may not be ready before its pods are deleted, where --enable-taint-manager is off.',
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
    meaning: 'Give each node a range for its pods out of --cluster-cidr.',
  },
  'cidr-allocator-type': {
    type: 'string',
    default: 'RangeAllocator',
    section: networks,
    meaning: 'How ranges are given to nodes: RangeAllocator; the others of 1.24 need a cloud provider.',
  },
  'cluster-cidr': {
    type: 'string',
    section: networks,
    meaning: 'Range of all pods, or one of each family, primary first; requires --allocate-node-cidrs.',
  },
  'service-cluster-ip-range': {
    type: 'string',
    section: networks,
    meaning: 'Range of all services, or one of each family: nodes get nothing of them; requires --allocate-node-cidrs.',
  },
  'node-cidr-mask-size': {
    type: 'int',
    min: 0,
    section: networks,
    meaning: "Size of a node's range; 24 for IPv4 and 64 for IPv6 unless given.",
  },
  'node-cidr-mask-size-ipv4': {
    type: 'int',
    min: 0,
    default: 24,
    section: networks,
    meaning: "Size of a node's IPv4 range with two families.",
  },
  'node-cidr-mask-size-ipv6': {
    type: 'int',
    min: 0,
    default: 64,
    section: networks,
    meaning: "Size of a node's IPv6 range with two families.",
  },
  'configure-cloud-routes': {
    type: 'bool',
    default: true,
    section: networks,
    meaning: "Set routes for nodes' ranges at the cloud provider.",
  },
  'route-reconciliation-period': {
    type: 'duration',
    min: 0,
    default: 10_000,
    section: networks,
    meaning: 'Interval of reconciling those routes.',
  },
  'cloud-provider': {
    type: 'string',
    default: '',
    section: networks,
    meaning: 'Cloud provider: bare-metal, or external for one whose controllers run elsewhere; empty for none.',
  },
  'cloud-config': {
    type: 'string',
    default: '',
    section: networks,
    meaning: "Cloud provider's configuration file.",
  },
  'vendor-container-registry-config': {
    type: 'string',
    inert: 'only node agents ask registries, and no vendor’s service is built in',
    section: networks,
    meaning: 'Configuration file of a container registry service.',
  },
  'endpoint-updates-batch-period': {
    type: 'duration',
    min: 0,
    section: networks,
    meaning: 'How long changes of pods are gathered before the endpoints of their services are updated.',
  },
  'endpointslice-updates-batch-period': {
    type: 'duration',
    min: 0,
    section: networks,
    meaning: 'How long changes of pods are gathered before the endpoint slices of their services are updated.',
  },
  'mirroring-endpointslice-updates-batch-period': {
    type: 'duration',
    min: 0,
    section: networks,
    meaning: 'How long changes of endpoints are gathered before they are mirrored.',
  },
  'max-endpoints-per-slice': {
    type: 'int',
    default: 100,
    section: networks,
    meaning: 'Endpoints in one slice at most; more slices are made beyond.',
  },
  'mirroring-max-endpoints-per-subset': {
    type: 'int',
    default: 1000,
    section: networks,
    meaning: 'Addresses of one subset that are mirrored at most.',
  },
  'terminated-pod-gc-threshold': {
    type: 'int',
    default: 12_500,
    section: garbage,
    meaning: 'Number of ended pods from which the oldest are deleted; zero or less keeps all.',
  },
  'enable-garbage-collector': {
    type: 'bool',
    default: true,
    section: garbage,
    meaning: 'Delete objects whose owners are gone; must be the same as for the API server.',
  },
  'namespace-sync-period': {
    type: 'duration',
    min: 0,
    default: 300_000,
    section: garbage,
    meaning: 'Interval of looking at namespaces that end, beside when they change.',
  },
  'resource-quota-sync-period': {
    type: 'duration',
    min: 0,
    default: 300_000,
    section: garbage,
    meaning: 'Interval of counting what quotas limit.',
  },
} as const satisfies OptionTable;

/** What 1.24 refuses about these options. */
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
