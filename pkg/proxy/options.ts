/** The options of the service proxy as a program of its own: those of release 1.24's that mean something to it. */
import { parseCIDR } from '#apimachinery/net/ip.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';
import { bindAddress } from '#daemon/serving/bind-address.js';
import { proxyModes } from '#proxy/backend.js';
import { familyOf } from '#proxy/services/addresses.js';
import type { Family } from '#proxy/services/view.js';

const section = 'Service proxy';

export const proxyOptions = {
  'hostname-override': { type: 'string', section, meaning: 'Name of this node. Default: the host name.' },
  'proxy-mode': {
    type: 'string',
    default: 'auto',
    oneOf: proxyModes,
    section,
    meaning:
      'How packets are led to endpoints: by nftables, or by iptables, which has no network policies and costs more with every service. auto: nftables where the program nft is, else iptables.',
  },
  'cluster-cidr': {
    type: 'strings',
    section,
    meaning:
      'Range of the addresses of all pods, or one of each family: what comes from elsewhere to a cluster address is masqueraded.',
  },
  'masquerade-all': { type: 'bool', section, meaning: "Give all traffic to cluster addresses the node's address." },
  'nodeport-addresses': {
    type: 'strings',
    section,
    meaning: 'Ranges of the addresses at which node ports are open. Default: all addresses of the node.',
  },
  'nftables-masquerade-bit': {
    type: 'int',
    default: 14,
    min: 0,
    section,
    meaning: 'Bit of the packet mark, 0 to 31, that says that a packet is to be masqueraded.',
  },
  'nftables-sync-period': {
    type: 'duration',
    default: 30_000,
    min: 1000,
    section,
    meaning: 'How often to see whether the rules are still there.',
  },
  'nftables-min-sync-period': {
    type: 'duration',
    default: 50,
    min: 0,
    section,
    meaning: 'How long changes are collected before they are brought to the kernel together.',
  },
  'nftables-table': {
    type: 'string',
    default: '',
    section,
    meaning:
      "Name of the table, after which that of network policies is named, too, and chains of iptables. Default: the program's name.",
  },
  'network-policies': {
    type: 'bool',
    default: true,
    section,
    meaning: 'Enforce network policies. Off: another program has to.',
  },
  cleanup: {
    type: 'bool',
    section,
    meaning: 'Take all rules away and end: services lead nowhere then.',
  },
  'healthz-bind-address': {
    type: 'string',
    default: '0.0.0.0:10256',
    section: 'Serving',
    meaning: 'Address and port of /healthz; empty for none.',
  },
  'metrics-bind-address': {
    type: 'string',
    default: '127.0.0.1:10249',
    section: 'Serving',
    meaning: 'Address and port of /metrics, without authentication; empty for none.',
  },
} as const satisfies OptionTable;

export type ProxyValues = OptionValues<typeof proxyOptions>;

const highestBit = 31;

export const proxyRules: Rule<ProxyValues> = (values) => {
  const errors: string[] = [];
  for (const name of ['cluster-cidr', 'nodeport-addresses'] as const) {
    for (const range of values[name]) {
      if (parseCIDR(range) === undefined)
        errors.push(`--${name} ${JSON.stringify(range)} must be a range of addresses`);
    }
  }
  if (values['nftables-masquerade-bit'] > highestBit) errors.push('--nftables-masquerade-bit must be from 0 to 31');
  if (!/^[A-Za-z0-9_-]*$/.test(values['nftables-table']))
    errors.push(`--nftables-table ${JSON.stringify(values['nftables-table'])} must be of letters, digits, - and _`);
  for (const name of ['healthz-bind-address', 'metrics-bind-address'] as const) {
    if (values[name] !== '' && bindAddress(values[name]) === undefined)
      errors.push(`--${name} ${JSON.stringify(values[name])} must be an address and a port`);
  }
  return errors;
};

/** The last range of each family. */
export function rangesByFamily(ranges: readonly string[]): Partial<Record<Family, string>> {
  const found: Partial<Record<Family, string>> = {};
  for (const range of ranges) {
    const family = familyOf(range);
    if (family !== undefined) found[family] = range;
  }
  return found;
}
