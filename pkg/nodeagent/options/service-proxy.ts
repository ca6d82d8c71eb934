/** Options of the service proxy that runs beside the agent in its process. */
import { rangeErrors, serviceProxyGroup, tableErrors } from '#daemon/options/groups/service-proxy.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

const section = 'Service proxy';

export const serviceProxyOptions = {
  'service-proxy': {
    type: 'bool',
    section,
    meaning: 'Maintain the kernel rules of services and network policies. If false, another program must do that.',
  },
  'service-proxy-mode': serviceProxyGroup.mode,
  'service-proxy-cluster-cidr': serviceProxyGroup.clusterCIDR,
  'service-proxy-nodes': {
    type: 'strings',
    section,
    meaning: 'Names of all nodes that share the network of this node. Default: only this node.',
  },
  'service-proxy-nodeport-addresses': serviceProxyGroup.nodePortAddresses,
  'service-proxy-masquerade-all': serviceProxyGroup.masqueradeAll,
  'service-proxy-cluster-ips-internal': {
    type: 'bool',
    section,
    meaning:
      'Let only pods and the node reach cluster addresses, for machines where several clusters use the same ones.',
  },
  'service-proxy-table': {
    type: 'string',
    default: '',
    section,
    meaning:
      'Name of the nftables table; also the base name of the table of network policies, of iptables chains and of ipset sets. Clusters that share a network need different names. Default: orch-proxy, or kube-proxy in the other dialect.',
  },
  'network-policies': {
    type: 'bool',
    default: true,
    section,
    meaning: 'Enforce network policies if --service-proxy is set. If false, another program must do that.',
  },
} as const satisfies OptionTable;

export const serviceProxyRules: Rule<OptionValues<typeof serviceProxyOptions>> = (values) => [
  ...rangeErrors('service-proxy-cluster-cidr', values['service-proxy-cluster-cidr']),
  ...rangeErrors('service-proxy-nodeport-addresses', values['service-proxy-nodeport-addresses']),
  ...tableErrors('service-proxy-table', values['service-proxy-table']),
];
