/**
 * Content of the services' table without any service. A packet is matched against allowed sources, finds its service by
 * address or node port in one map and an endpoint by a random number in another, and is finally masqueraded if the
 * reply would not return through this node.
 */
import { createHash } from 'node:crypto';
import type { BaseTable, NftChain, NftSet } from '#proxy/nft/table.js';
import { familyOf } from '#proxy/services/addresses.js';
import { endpointsMap, familyName, type PickedBy, pickChains, rememberChain } from '#proxy/services/chains.js';
import { type Family, families, type ProxySettings, protocols } from '#proxy/services/proxy-settings.js';

export function servicesBaseTable(settings: ProxySettings): BaseTable {
  const sets = families.flatMap(familySets);
  const chains = baseChains(settings);
  // Shared chains are part of the version, too.
  const samples = families.flatMap((family) => [
    ...pickChains(
      { family, protocol: 'TCP', by: 'address', to: 'local', count: 2, localCount: 1, affinity: 'a' },
      settings,
    ),
    ...pickChains(
      { family, protocol: 'TCP', by: 'node-port', to: 'local', count: 2, localCount: 1, affinity: 'a' },
      settings,
    ),
    rememberChain(family, 'a', 1),
  ]);
  const version = createHash('sha256')
    .update(JSON.stringify([sets, chains, samples]))
    .digest('hex')
    .slice(0, 16);
  return { name: settings.table, sets, chains, version };
}

function familySets(family: Family): NftSet[] {
  const address = family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr';
  const ip = family === 'IPv4' ? 'ip' : 'ip6';
  const service = `${address} . inet_proto . inet_service`;
  const nodePort = 'inet_proto . inet_service';
  const number = 'numgen random mod 2';
  const set = (kind: 'set' | 'map', name: string, declaration: string): NftSet => ({
    ...{ name: familyName(name, family), kind, declaration },
  });
  return [
    set('map', 'services', `type ${service} : verdict;`),
    set('map', 'node-ports', `type ${nodePort} : verdict;`),
    ...protocols.flatMap((protocol): NftSet[] => {
      const target = `${ip} daddr . ${protocol.toLowerCase()} dport`;
      const map = (by: PickedBy['by'], key: string): NftSet => ({
        name: endpointsMap(by, family, protocol),
        kind: 'map',
        declaration: `typeof ${key} . ${number} : ${target};`,
      });
      return [map('address', `${ip} daddr . meta l4proto . th dport`), map('node-port', 'meta l4proto . th dport')];
    }),
    set('map', 'no-endpoints', `type ${service} : verdict;`),
    set('map', 'no-node-port-endpoints', `type ${nodePort} : verdict;`),
    set('map', 'affinities', `type ${service} : verdict;`),
    set('map', 'node-port-affinities', `type ${nodePort} : verdict;`),
    set('set', 'firewalled', `type ${service};`),
    set('set', 'allowed-sources', `type ${service} . ${address}; flags interval;`),
    set('set', 'hairpin', `type ${address} . ${address};`),
  ];
}

function baseChains(settings: ProxySettings): NftChain[] {
  const { masqueradeBit, isBridgeUnfiltered, clusterCIDRs } = settings;
  const bit = `0x${(2 ** masqueradeBit).toString(16).padStart(8, '0')}`;
  const each = (rules: (family: Family, ip: 'ip' | 'ip6') => string[]) =>
    families.flatMap((family) => rules(family, family === 'IPv4' ? 'ip' : 'ip6'));
  const lookup = (name: string) =>
    each((family, ip) => [`${ip} daddr . meta l4proto . th dport vmap @${familyName(name, family)}`]);
  const portLookup = (name: string) =>
    each((family) => [
      `meta nfproto ${family.toLowerCase()} meta l4proto . th dport vmap @${familyName(name, family)}`,
    ]);
  const original = 'meta l4proto { tcp, udp, sctp }';
  return [
    { name: 'services', rules: [...lookup('services'), 'fib daddr type local jump node-ports'] },
    { name: 'node-ports', rules: [...nodePortRules(settings), ...portLookup('node-ports')] },
    { name: 'refuse', rules: ['meta l4proto tcp reject with tcp reset', 'reject'] },
    {
      name: 'no-endpoints',
      rules: [...lookup('no-endpoints'), 'fib daddr type local jump no-node-port-endpoints'],
    },
    { name: 'no-node-port-endpoints', rules: [...nodePortRules(settings), ...portLookup('no-node-port-endpoints')] },
    {
      name: 'sources',
      rules: each((family, ip) => {
        const service = `${ip} daddr . meta l4proto . th dport`;
        const allowed = `${service} . ${ip} saddr != @${familyName('allowed-sources', family)}`;
        return [`${service} @${familyName('firewalled', family)} ${allowed} drop`];
      }),
    },
    {
      name: 'remember',
      rules: each((family, ip) => [
        `meta nfproto ${family.toLowerCase()} ${original} ct original ${ip} daddr . meta l4proto . ct original proto-dst vmap @${familyName('affinities', family)}`,
        `meta nfproto ${family.toLowerCase()} ${original} meta l4proto . ct original proto-dst vmap @${familyName('node-port-affinities', family)}`,
      ]),
    },
    {
      name: 'masquerade-marked',
      rules: [`meta mark set meta mark ^ ${bit}`, 'masquerade fully-random'],
    },
    { name: 'nat-prerouting', hook: 'type nat hook prerouting priority -100;', rules: ['jump services'] },
    { name: 'nat-output', hook: 'type nat hook output priority -100;', rules: ['jump services'] },
    {
      name: 'nat-postrouting',
      hook: 'type nat hook postrouting priority 100;',
      rules: [
        `meta mark & ${bit} == ${bit} jump masquerade-marked`,
        ...each((family, ip) => [
          // A pod that reaches itself through the service would not recognize the reply.
          `${ip} saddr . ${ip} daddr @${familyName('hairpin', family)} ct status dnat masquerade fully-random`,
        ]),
        ...(isBridgeUnfiltered
          ? each((family, ip) => {
              const cidr = clusterCIDRs[family];
              return cidr === undefined ? [] : [`${ip} saddr ${cidr} ${ip} daddr ${cidr} ct status dnat masquerade`];
            })
          : []),
      ],
    },
    {
      name: 'sources-prerouting',
      hook: 'type filter hook prerouting priority -110;',
      rules: ['ct state new jump sources'],
    },
    { name: 'sources-output', hook: 'type filter hook output priority -110;', rules: ['ct state new jump sources'] },
    {
      name: 'remember-prerouting',
      hook: 'type filter hook prerouting priority -90;',
      rules: ['ct state new ct status dnat jump remember'],
    },
    {
      name: 'remember-output',
      hook: 'type filter hook output priority -90;',
      rules: ['ct state new ct status dnat jump remember'],
    },
    {
      name: 'filter-input',
      hook: 'type filter hook input priority 0;',
      rules: [
        // Node ports at 127.0.0.1 require routing of loopback addresses; drop such packets from outside.
        'iifname != "lo" ip daddr 127.0.0.0/8 ct state new drop',
        'ct state new jump no-endpoints',
      ],
    },
    {
      name: 'filter-forward',
      hook: 'type filter hook forward priority 0;',
      // A reply without conntrack state would carry an address that the client does not know.
      rules: ['ct state invalid drop', 'ct state new jump no-endpoints'],
    },
    { name: 'filter-output', hook: 'type filter hook output priority 0;', rules: ['ct state new jump no-endpoints'] },
  ];
}

/** Returns from node port lookup for addresses where node ports are closed. */
function nodePortRules({ nodePortAddresses }: ProxySettings): string[] {
  if (nodePortAddresses.length === 0) return [];
  return families.map((family) => {
    const ip = family === 'IPv4' ? 'ip' : 'ip6';
    const ranges = nodePortAddresses.filter((range) => familyOf(range) === family);
    if (ranges.length === 0) return `meta nfproto ${family.toLowerCase()} return`;
    return `${ip} daddr != { ${ranges.join(', ')} } return`;
  });
}
