/** Options of the standalone service proxy: those of release 1.24 that apply to it. */
import { rangeErrors, serviceProxyGroup, tableErrors } from '#daemon/options/groups/service-proxy.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';
import { bindAddress } from '#daemon/serving/plain-http.js';
import { familyOf } from '#proxy/services/addresses.js';
import type { Family } from '#proxy/services/proxy-settings.js';

const section = 'Service proxy';

export const proxyOptions = {
  'hostname-override': { type: 'string', section, meaning: 'Name of this node. Default: the host name.' },
  'proxy-mode': serviceProxyGroup.mode,
  'cluster-cidr': serviceProxyGroup.clusterCIDR,
  'masquerade-all': serviceProxyGroup.masqueradeAll,
  'nodeport-addresses': serviceProxyGroup.nodePortAddresses,
  'nftables-masquerade-bit': {
    type: 'int',
    default: 14,
    min: 0,
    section,
    meaning: 'Bit of the packet mark, 0 to 31, that selects packets for masquerading.',
  },
  'nftables-sync-period': {
    type: 'duration',
    default: 30_000,
    min: 1000,
    section,
    meaning: 'How often to check that the rules still exist.',
  },
  'nftables-min-sync-period': {
    type: 'duration',
    default: 50,
    min: 0,
    section,
    meaning: 'How long changes are collected before they are applied together.',
  },
  'nftables-table': {
    type: 'string',
    default: '',
    section,
    meaning:
      "Name of the nftables table, and prefix of the table of network policies, of iptables chains and of ipset sets. Default: the program's name.",
  },
  'network-policies': {
    type: 'bool',
    default: true,
    section,
    meaning: 'Enforce network policies; switch this off if another program does.',
  },
  cleanup: {
    type: 'bool',
    section,
    meaning: 'Remove all rules and exit; services are not routed any more.',
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
  const errors = [
    ...rangeErrors('cluster-cidr', values['cluster-cidr']),
    ...rangeErrors('nodeport-addresses', values['nodeport-addresses']),
    ...tableErrors('nftables-table', values['nftables-table']),
  ];
  if (values['nftables-masquerade-bit'] > highestBit) errors.push('--nftables-masquerade-bit must be from 0 to 31');
  for (const name of ['healthz-bind-address', 'metrics-bind-address'] as const) {
    if (values[name] !== '' && bindAddress(values[name]) === undefined)
      errors.push(`--${name} ${JSON.stringify(values[name])} must be an address and a port`);
  }
  return errors;
};

/** The last range of each family. */
export function rangesByFamily(ranges: readonly string[]): Partial<Record<Family, string>> {
  const byFamily: Partial<Record<Family, string>> = {};
  for (const range of ranges) {
    const family = familyOf(range);
    if (family !== undefined) byFamily[family] = range;
  }
  return byFamily;
}
