import t from 'tap';
import type { Service } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import type { Contribution, Table } from '#proxy/iptables/chain.js';
import { planChains } from '#proxy/iptables/service-chains.js';
import type { Family, ProxySettings } from '#proxy/services/proxy-settings.js';
import { serviceRoutes } from '#proxy/services/routes.js';

const settings: ProxySettings = {
  table: 't',
  clusterCIDRs: { IPv4: '10.244.0.0/16' },
  masqueradeBit: 14,
  masqueradeAll: false,
  nodePortAddresses: [],
  isClusterIPInternal: false,
  isBridgeUnfiltered: false,
};

const service = (spec: Service['spec'], more: Partial<Service> = {}): Service => ({
  metadata: { name: 'web', namespace: 'default' },
  spec: { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1'], ports: [{ port: 80 }], ...spec },
  ...more,
});

const slice = (...endpoints: EndpointSlice['endpoints']): EndpointSlice => ({
  metadata: { name: 'web-1', namespace: 'default' },
  addressType: 'IPv4',
  ports: [{ port: 8080 }],
  endpoints,
});

const here = { addresses: ['10.244.0.2'], nodeName: 'here' };
const there = { addresses: ['10.244.1.2'], nodeName: 'there' };

interface Planned {
  readonly family?: Family;
  readonly slices?: readonly EndpointSlice[];
  readonly settings?: Partial<ProxySettings>;
}

function plan(subject: Service, { family = 'IPv4', slices = [], settings: more = {} }: Planned = {}): Contribution {
  const node = { names: new Set(['here']), zone: undefined };
  const gates = { topologyAwareHints: true, proxyTerminatingEndpoints: false };
  const routes = serviceRoutes(subject, slices, { dialect, node, gates });
  return planChains(routes, { family, prefix: 't', settings: { ...settings, ...more } });
}

/** All chains of a packet as text; chains are shown indented where they are used. */
function paths({ chains, entries }: Contribution, table: Table = 'nat'): string[] {
  const follow = (rule: string, depth: number): string[] => {
    const to = / -[jg] (t-[a-z][0-9a-f]{12})$/.exec(` ${rule}`)?.[1];
    const chain = chains.find(({ name }) => name === to);
    const text = rule.replaceAll(/t-([a-z])[0-9a-f]{12}/g, '$1');
    return [`${'  '.repeat(depth)}${text}`, ...(chain?.rules.flatMap((each) => follow(each, depth + 1)) ?? [])];
  };
  const lists = { mangle: ['t-sources'], nat: ['t-services', 't-node-ports'], filter: ['t-nobody', 't-nobody-port'] };
  return entries.flatMap(({ list, match, rule }) =>
    lists[table].includes(list) ? [`${list} ${match}:`, ...follow(rule, 1)] : [],
  );
}

t.test('a cluster address', (t) => {
  const planned = plan(service({}), { slices: [slice(here, there)] });
  t.same(paths(planned), [
    't-services -d 10.96.0.0/24:',
    '  -d 10.96.0.1 -p tcp -m tcp --dport 80 -j p',
    '    ! -s 10.244.0.0/16 -j MARK --or-mark 0x4000',
    '    -j c',
    '      -m statistic --mode random --probability 0.5000000000 -j e',
    '        -s 10.244.0.2 -j MARK --or-mark 0x4000',
    '        -p tcp -m tcp -j DNAT --to-destination 10.244.0.2:8080',
    '      -p tcp -m tcp -j DNAT --to-destination 10.244.1.2:8080',
  ]);
  t.same(paths(planned, 'filter'), []);
  const inside = plan(service({}), { slices: [slice(there)], settings: { isClusterIPInternal: true } });
  t.equal(paths(inside)[2], '    ! -s 10.244.0.0/16 -m addrtype ! --src-type LOCAL -j RETURN');
  const all = plan(service({}), { slices: [slice(there)], settings: { masqueradeAll: true } });
  t.equal(paths(all)[2], '    -j MARK --or-mark 0x4000');
  t.end();
});

t.test('every address and port of a service', (t) => {
  const spec = {
    type: 'LoadBalancer',
    ports: [{ port: 53, protocol: 'UDP', nodePort: 30_053 }],
    externalIPs: ['192.0.2.1'],
    loadBalancerSourceRanges: ['10.0.0.0/8', '192.0.2.77/32'],
  };
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.9' }] } };
  const endpoints = { ...slice(there), ports: [{ port: 5353, protocol: 'UDP' }] };
  const planned = plan(service(spec, { status }), { slices: [endpoints] });
  const lead = [
    '    -j MARK --or-mark 0x4000',
    '    -j c',
    '      -p udp -m udp -j DNAT --to-destination 10.244.1.2:5353',
  ];
  t.same(paths(planned).slice(5), [
    't-services -d 192.0.2.0/24:',
    '  -d 192.0.2.1 -p udp -m udp --dport 53 -j p',
    ...lead,
    't-services -d 192.0.2.0/24:',
    '  -d 192.0.2.9 -p udp -m udp --dport 53 -j p',
    ...lead,
    't-node-ports -p udp -m udp --dport 30016:30079:',
    '  -p udp -m udp --dport 30053 -j p',
    ...lead,
  ]);
  t.same(paths(planned, 'mangle'), [
    't-sources -d 192.0.2.0/24:',
    '  -d 192.0.2.9 -p udp -m udp --dport 53 -j s',
    '    -s 10.0.0.0/8 -j RETURN',
    '    -s 192.0.2.77 -j RETURN',
    '    -j DROP',
  ]);
  t.end();
});

t.test('local external traffic stays on the node', (t) => {
  const spec = { type: 'NodePort', externalTrafficPolicy: 'Local', ports: [{ port: 80, nodePort: 30_080 }] };
  const atPort = (slices: readonly EndpointSlice[], table?: Table) => {
    const lines = paths(plan(service(spec), { slices }), table);
    return lines.slice(lines.findIndex((line) => line.includes('--dport 30080 ')));
  };
  const everywhere = ['      -j c', '        -p tcp -m tcp -j DNAT --to-destination 10.244.1.2:8080'];
  t.same(atPort([slice(there)]), [
    '  -p tcp -m tcp --dport 30080 -j p',
    '    -s 10.244.0.0/16 -g p',
    '      ! -s 10.244.0.0/16 -j MARK --or-mark 0x4000',
    ...everywhere,
    '    -m addrtype --src-type LOCAL -g p',
    '      -j MARK --or-mark 0x4000',
    ...everywhere,
  ]);
  t.same(atPort([slice(there)], 'filter').at(-1), '  -p tcp -m tcp --dport 30080 -j DROP', 'no local endpoint');
  t.same(atPort([slice(here, there)]).slice(-4), [
    '    -j c',
    '      -j e',
    '        -s 10.244.0.2 -j MARK --or-mark 0x4000',
    '        -p tcp -m tcp -j DNAT --to-destination 10.244.0.2:8080',
  ]);
  t.same(atPort([slice(here, there)], 'filter'), []);
  t.end();
});

t.test('a service without endpoints', (t) => {
  const rejection = (spec: Service['spec'], slices: readonly EndpointSlice[] = []) =>
    paths(plan(service(spec), { slices }), 'filter').at(-1);
  t.equal(rejection({}), '  -d 10.96.0.1 -p tcp -m tcp --dport 80 -j REJECT --reject-with tcp-reset');
  t.equal(rejection({ ports: [{ port: 53, protocol: 'UDP' }] }), '  -d 10.96.0.1 -p udp -m udp --dport 53 -j REJECT');
  const local = { internalTrafficPolicy: 'Local' };
  t.equal(rejection(local, [slice(there)]), '  -d 10.96.0.1 -p tcp -m tcp --dport 80 -j DROP');
  t.equal(rejection(local, [slice(here)]), undefined);
  t.end();
});

t.test('internal and external policies have separate endpoints', (t) => {
  const spec = { type: 'NodePort', internalTrafficPolicy: 'Local', ports: [{ port: 80, nodePort: 30_080 }] };
  const lines = paths(plan(service(spec), { slices: [slice(here, there)] }));
  const ends = lines.filter((line) => /DNAT/.test(line)).map((line) => line.trim().split(' ').at(-1));
  t.same(ends, ['10.244.0.2:8080', '10.244.0.2:8080', '10.244.1.2:8080']);
  t.end();
});

t.test('session affinity', (t) => {
  const spec = { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } };
  const lines = paths(plan(service(spec), { slices: [slice(there)] }));
  t.same(lines.slice(3), [
    '    -j c',
    '      -m recent --name e --rcheck --seconds 60 --reap -j e',
    '        -p tcp -m tcp -m recent --name e --set -j DNAT --to-destination 10.244.1.2:8080',
    '      -j e',
    '        -p tcp -m tcp -m recent --name e --set -j DNAT --to-destination 10.244.1.2:8080',
  ]);
  t.end();
});

t.test('SCTP', (t) => {
  const spec = { type: 'NodePort', ports: [{ port: 132, protocol: 'SCTP', nodePort: 30_132 }] };
  const endpoints = { ...slice(there), ports: [{ port: 1320, protocol: 'SCTP' }] };
  t.same(paths(plan(service(spec), { slices: [endpoints] })), [
    't-services -d 10.96.0.0/24:',
    '  -d 10.96.0.1 -p sctp -m sctp --dport 132 -j p',
    '    ! -s 10.244.0.0/16 -j MARK --or-mark 0x4000',
    '    -j c',
    '      -p sctp -m sctp -j DNAT --to-destination 10.244.1.2:1320',
    't-node-ports -p sctp -m sctp --dport 30080:30143:',
    '  -p sctp -m sctp --dport 30132 -j p',
    '    -j MARK --or-mark 0x4000',
    '    -j c',
    '      -p sctp -m sctp -j DNAT --to-destination 10.244.1.2:1320',
  ]);
  const rejection = paths(plan(service(spec), { slices: [slice(there)] }), 'filter');
  t.equal(rejection[1], '  -d 10.96.0.1 -p sctp -m sctp --dport 132 -j REJECT', 'TCP endpoints are not used for SCTP');
  t.end();
});

t.test('IPv6', (t) => {
  const spec = { clusterIPs: ['10.96.0.1', 'FD00::1'] };
  const six: EndpointSlice = { ...slice({ addresses: ['fd00:0::2'] }), addressType: 'IPv6' };
  t.same(paths(plan(service(spec), { family: 'IPv6', slices: [six] })), [
    't-services -d fd00::/120:',
    '  -d fd00::1 -p tcp -m tcp --dport 80 -j p',
    '    -j c',
    '      -p tcp -m tcp -j DNAT --to-destination [fd00::2]:8080',
  ]);
  t.end();
});
