/** Options of the service proxy that runs beside the agent in its process. */
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Service proxy';

export const serviceProxyOptions = {
  'service-proxy': {
    type: 'bool',
    section,
    meaning:
      "Keep the kernel's rules that lead addresses and ports of services to their endpoints, and those of network policies. Off: another program has to.",
  },
  'service-proxy-mode': {
    type: 'string',
    default: 'auto',
    oneOf: ['auto', 'nftables', 'iptables'],
    section,
    meaning:
      'How packets are led to endpoints: by nftables, or by iptables, which has no network policies and costs more with every service. auto: nftables where the program nft is, else iptables.',
  },
  'service-proxy-cluster-cidr': {
    type: 'strings',
    section,
    meaning:
      'Range of the addresses of all pods, or one of each family: what comes from elsewhere to a cluster address is masqueraded.',
  },
  'service-proxy-nodes': {
    type: 'strings',
    section,
    meaning: 'Names of all nodes that share the network of this one. Default: this one alone.',
  },
  'service-proxy-nodeport-addresses': {
    type: 'strings',
    section,
    meaning: 'Ranges of the addresses at which node ports are open. Default: all addresses of the node.',
  },
  'service-proxy-masquerade-all': {
    type: 'bool',
    section,
    meaning: "Give all traffic to cluster addresses the node's address.",
  },
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
      'Name of the table of nftables, after which that of network policies is named, too, and chains of iptables; clusters that share a network need one each. Default: orch-proxy, or kube-proxy in the other dialect.',
  },
  'network-policies': {
    type: 'bool',
    default: true,
    section,
    meaning: 'Enforce network policies where --service-proxy is on. Off: another program has to.',
  },
} as const satisfies OptionTable;
