/** Options of the service proxy that runs beside the agent in its process. */
import { rangeErrors, serviceProxyGroup, tableErrors } from '#daemon/options/groups/service-proxy.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

const section = 'Service proxy';

export const serviceProxyOptions = {
  'service-proxy': {
    type: 'bool',
    section,
    meaning:
      "Keep the kernel's rules that lead addresses and ports of services to their endpoints, and those of network policies. Off: another program has to.",
  },
  'service-proxy-mode': serviceProxyGroup.mode,
  'service-proxy-cluster-cidr': serviceProxyGroup.clusterCIDR,
  'service-proxy-nodes': {
    type: 'strings',
    section,
    meaning: 'Names of all nodes that share the network of this one. Default: this one alone.',
  },
  'service-proxy-nodeport-addresses': serviceProxyGroup.nodePortAddresses,
  'service-proxy-masquerade-all': serviceProxyGroup.masqueradeAll,
  'service-proxy-cluster-ips-internal': {
    type: 'bool',
    section,
    meaning:
      'Let only pods and the node reach cluster addresses, as where several clusters of one machine have the same ones.',
  },
  'service-proxy-table': {
    type: 'string',
    default: '',
    section,
    meaning:
      'Name of the table of nftables, after which that of network policies is named, too, and chains of iptables and sets of ipset; clusters that share a network need one each. Default: orch-proxy, or kube-proxy in the other dialect.',
  },
  'network-policies': {
    type: 'bool',
    default: true,
    section,
    meaning: 'Enforce network policies where --service-proxy is on. Off: another program has to.',
  },
} as const satisfies OptionTable;

export const serviceProxyRules: Rule<OptionValues<typeof serviceProxyOptions>> = (values) => [
  ...rangeErrors('service-proxy-cluster-cidr', values['service-proxy-cluster-cidr']),
  ...rangeErrors('service-proxy-nodeport-addresses', values['service-proxy-nodeport-addresses']),
  ...tableErrors('service-proxy-table', values['service-proxy-table']),
];
