/**
 * Options of the service proxy, both as a program of its own and inside the node agent. Each names them in its own way.
 */
import { parseCIDR } from '#apimachinery/net/ip.js';
import type { OptionTable } from '#daemon/options/option.js';

/** `auto`: the first of the others that works. */
const proxyModes = ['auto', 'nftables', 'iptables'] as const;
export type ProxyMode = (typeof proxyModes)[number];

const section = 'Service proxy';

export const serviceProxyGroup = {
  mode: {
    type: 'string',
    default: 'auto',
    oneOf: proxyModes,
    section,
    meaning:
      'How services and network policies are implemented: by nftables, or by iptables, where each connection costs more with every service. auto: nftables if the program nft exists, else iptables.',
  },
  clusterCIDR: {
    type: 'strings',
    section,
    meaning:
      'Address range of all pods, or one per family. Traffic to cluster addresses from elsewhere is masqueraded.',
  },
  masqueradeAll: { type: 'bool', section, meaning: 'Masquerade all traffic to cluster addresses.' },
  nodePortAddresses: {
    type: 'strings',
    section,
    meaning: 'Address ranges on which node ports are open. Default: all addresses of the node.',
  },
} as const satisfies OptionTable;

/** @param name Option name without dashes. */
export function rangeErrors(name: string, ranges: readonly string[]): string[] {
  return ranges
    .filter((range) => parseCIDR(range) === undefined)
    .map((range) => `--${name} ${JSON.stringify(range)} must be a range of addresses`);
}

export function tableErrors(name: string, table: string): string[] {
  if (/^[A-Za-z0-9_-]*$/.test(table)) return [];
  return [`--${name} ${JSON.stringify(table)} must be of letters, digits, - and _`];
}
