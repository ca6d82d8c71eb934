/**
 * The chains that are there without any service. The path of a packet that begins a connection: it is compared with the
 * sources that may reach its address (mangle), finds its service by address, first by what all addresses of a chain have
 * in common, or by node port, then an endpoint by chance (nat), is refused where there is none (filter), and masqueraded
 * at the end where its answer would not come back this way otherwise.
 */
import { type Chain, chainNames, type BaseChains, type Hook, type List } from '#proxy/iptables/chain.js';
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
        // Answers between pods of one bridge would not pass here.
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
        // Node ports at 127.0.0.1 need packets from there to be routed; nobody else may send such.
        ...(family === 'IPv4' ? [`! -i lo -d 127.0.0.0/8 ${isNew} -j DROP`] : []),
        `${isNew} -j ${name('nobody')}`,
      ],
    },
    {
      table: 'filter',
      name: name('forward'),
      // What connection tracking does not know would be answered under an address that the client never asked.
      rules: ['-m conntrack --ctstate INVALID -j DROP', `${isNew} -j ${name('nobody')}`],
    },
    { table: 'filter', name: name('output'), rules: [`${isNew} -j ${name('nobody')}`] },
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
      list('filter', 'nobody', { after: atNode('nobodyAtPort') }),
      list('filter', 'nobodyAtPort'),
    ],
  };
}

/** `0x4000` */
export function markText({ masqueradeBit }: ProxySettings): string {
  return `0x${(2 ** masqueradeBit).toString(16)}`;
}

/** Where node ports are open. */
function nodeMatches(family: Family, { nodePortAddresses }: ProxySettings): string[] {
  const isLocal = '-m addrtype --dst-type LOCAL';
  if (nodePortAddresses.length === 0) return [isLocal];
  return nodePortAddresses.filter((range) => familyOf(range) === family).map((range) => `-d ${range} ${isLocal}`);
}
