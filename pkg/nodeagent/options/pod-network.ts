/** Options of the network of pods, which runs beside the agent in its process. */
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Pod network';

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
