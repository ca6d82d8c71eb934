/**
 * Chains that exist without any service. The first packet of a connection is matched against allowed sources (mangle),
 * then against services by address or node port and led to a random endpoint (nat), or rejected if there is none
 * (filter), and finally masqueraded if the reply would not return through this node. Long address lists are split into
 * chains by address block.
 */
import { type BaseChains, type Chain, chainNames, type Hook, type List } from '#proxy/iptables/chain.js';
import { familyOf } from '#proxy/services/addresses.js';
import type { Family, ProxySettings } from '#proxy/services/proxy-settings.js';

const isNew = '-m conntrack --ctstate NEW';

export function serviceBaseChains(family: Family, prefix: string, settings: ProxySettings): BaseChains {
  const name = (of: keyof typeof chainNames) => `${prefix}-${chainNames[of]}`;
  const mark = markText(settings);
  const cidr = settings.clusterCIDRs[family];
  const hook = (table: Hook['table'], from: Hook['from'], to: keyof typeof chainNames): Hook => ({
    ...{ table, from, to: name(to) },
  });
  const list = (table: List['table'], of: keyof typeof chainNames, more: Partial<List> = {}): List => ({
    ...{ table, name: name(of), before: [], after: [], ...more },
  });
  const atNode = (to: keyof typeof chainNames) =>
    nodeMatches(family, settings).map((match) => `${match} -j ${name(to)}`);
  const chains: Chain[] = [
    {
      table: 'nat',
      name: name('postrouting'),
      rules: [
        // Otherwise replies between pods of one bridge would bypass this node.
        ...(settings.isBridgeUnfiltered && cidr !== undefined
          ? [`-s ${cidr} -d ${cidr} -m conntrack --ctstate DNAT -j MASQUERADE`]
          : []),
        `-m mark ! --mark ${mark}/${mark} -j RETURN`,
        `-j MARK --xor-mark ${mark}`,
        '-j MASQUERADE --random-fully',
      ],
    },
    {
      table: 'filter',
      name: name('input'),
      rules: [
        // Node ports at 127.0.0.1 require routing of loopback addresses; drop such packets from outside.
        ...(family === 'IPv4' ? [`! -i lo -d 127.0.0.0/8 ${isNew} -j DROP`] : []),
        `${isNew} -j ${name('noEndpoints')}`,
      ],
    },
    {
      table: 'filter',
      name: name('forward'),
      // A reply without conntrack state would carry an address that the client does not know.
      rules: ['-m conntrack --ctstate INVALID -j DROP', `${isNew} -j ${name('noEndpoints')}`],
    },
    { table: 'filter', name: name('output'), rules: [`${isNew} -j ${name('noEndpoints')}`] },
  ];
  return {
    prefix,
    hooks: [
      hook('mangle', 'PREROUTING', 'sources'),
      hook('mangle', 'OUTPUT', 'sources'),
      hook('nat', 'PREROUTING', 'services'),
      hook('nat', 'OUTPUT', 'services'),
      hook('nat', 'POSTROUTING', 'postrouting'),
      hook('filter', 'INPUT', 'input'),
      hook('filter', 'FORWARD', 'forward'),
      hook('filter', 'OUTPUT', 'output'),
    ],
    chains,
    lists: [
      list('mangle', 'sources', { before: ['-m conntrack ! --ctstate NEW -j RETURN'] }),
      list('nat', 'services', { after: atNode('nodePorts') }),
      list('nat', 'nodePorts'),
      list('filter', 'noEndpoints', { after: atNode('noEndpointsAtPort') }),
      list('filter', 'noEndpointsAtPort'),
    ],
  };
}

export function markText({ masqueradeBit }: ProxySettings): string {
  return `0x${(2 ** masqueradeBit).toString(16)}`;
}

/** Matches for addresses on which node ports are open. */
function nodeMatches(family: Family, { nodePortAddresses }: ProxySettings): string[] {
  const isLocal = '-m addrtype --dst-type LOCAL';
  if (nodePortAddresses.length === 0) return [isLocal];
  return nodePortAddresses.filter((range) => familyOf(range) === family).map((range) => `-d ${range} ${isLocal}`);
}
