import t from 'tap';
import type { Service } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { changeText } from '#proxy/nft/table.js';
import type { EndpointGates } from '#proxy/services/endpoints.js';
import type { ProxySettings } from '#proxy/services/proxy-settings.js';
import { isSkipped } from '#proxy/services/routes.js';
import { affinityOf, type PlanContext, planService, type ServicePlan } from '#proxy/services/service-plan.js';

const settings: ProxySettings = {
  table: 't',
  clusterCIDRs: { IPv4: '10.244.0.0/16' },
  masqueradeBit: 14,
  masqueradeAll: false,
  nodePortAddresses: [],
  isClusterIPInternal: false,
  isBridgeUnfiltered: false,
};
const noGates: EndpointGates = { topologyAwareHints: true, proxyTerminatingEndpoints: false };

function context(more: Partial<PlanContext> = {}): PlanContext {
  const node = { names: new Set(['here']), zone: 'a' };
  return { dialect, node, settings, gates: noGates, previousSlots: () => [], ...more };
}

const service = (spec: Service['spec'], more: Partial<Service> = {}): Service => ({
  metadata: { name: 'web', namespace: 'default' },
  spec: { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1'], ports: [{ port: 80 }], ...spec },
  ...more,
});

type Endpoint = EndpointSlice['endpoints'][number];
const endpoint = (address: string, more: Partial<Endpoint> = {}): Endpoint => ({ addresses: [address], ...more });
const slice = (...endpoints: Endpoint[]): EndpointSlice => ({
  metadata: { name: 'web-1', namespace: 'default' },
  addressType: 'IPv4',
  ports: [{ port: 8080 }],
  endpoints,
});

/** The elements, except hairpin ones. */
function lines(plan: ServicePlan): string[] {
  return plan.contribution.elements
    .filter(({ set }) => !set.startsWith('hairpin'))
    .map(({ set, key, data }) => `${set}: ${key}${data === '' ? '' : ` → ${data}`}`);
}

function rules(plan: ServicePlan, chain: string): readonly string[] | undefined {
  return plan.contribution.chains.find(({ name }) => name === chain)?.rules;
}

const a = endpoint('10.244.0.2', { nodeName: 'here' });
const b = endpoint('10.244.1.2', { nodeName: 'there' });

t.test('a cluster address', (t) => {
  const plan = planService(service({}), [slice(b, a)], context());
  t.same(lines(plan), [
    'services4: 10.96.0.1 . tcp . 80 → goto cluster4-tcp-2',
    'endpoints4-tcp: 10.96.0.1 . tcp . 80 . 0 → 10.244.0.2 . 8080',
    'endpoints4-tcp: 10.96.0.1 . tcp . 80 . 1 → 10.244.1.2 . 8080',
  ]);
  t.same(rules(plan, 'cluster4-tcp-2'), [
    'ip saddr != 10.244.0.0/16 meta mark set meta mark | 0x00004000',
    'dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 2 map @endpoints4-tcp',
  ]);
  t.end();
});

t.test('every address and port of a service', (t) => {
  const spec = {
    type: 'LoadBalancer',
    ports: [{ port: 53, protocol: 'UDP', nodePort: 30_053 }],
    externalIPs: ['192.0.2.1', '192.0.2.9'],
    loadBalancerSourceRanges: ['10.0.0.0/8', '10.1.0.0/16', '192.0.2.77/32'],
  };
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.9' }, { hostname: 'example.com' }] } };
  const endpoints = { ...slice(a), ports: [{ port: 5353, protocol: 'UDP' }] };
  t.same(lines(planService(service(spec, { status }), [endpoints], context())), [
    'services4: 10.96.0.1 . udp . 53 → goto cluster4-udp-1',
    'endpoints4-udp: 10.96.0.1 . udp . 53 . 0 → 10.244.0.2 . 5353',
    'services4: 192.0.2.1 . udp . 53 → goto external4-udp-1',
    'endpoints4-udp: 192.0.2.1 . udp . 53 . 0 → 10.244.0.2 . 5353',
    'services4: 192.0.2.9 . udp . 53 → goto external4-udp-1',
    'endpoints4-udp: 192.0.2.9 . udp . 53 . 0 → 10.244.0.2 . 5353',
    'firewalled4: 192.0.2.9 . udp . 53',
    'allowed-sources4: 192.0.2.9 . udp . 53 . 10.0.0.0/8',
    'allowed-sources4: 192.0.2.9 . udp . 53 . 192.0.2.77',
    'node-ports4: udp . 30053 → goto node-port-external4-udp-1',
    'node-port-endpoints4-udp: udp . 30053 . 0 → 10.244.0.2 . 5353',
  ]);
  t.end();
});

t.test('local external traffic stays on the node', (t) => {
  const spec = { type: 'NodePort', externalTrafficPolicy: 'Local', ports: [{ port: 80, nodePort: 30_080 }] };
  const plan = planService(service(spec), [slice(a, b)], context());
  t.same(lines(plan).slice(3), [
    'node-ports4: tcp . 30080 → goto node-port-local4-tcp-2-1',
    'node-port-endpoints4-tcp: tcp . 30080 . 0 → 10.244.0.2 . 8080',
    'node-port-endpoints4-tcp: tcp . 30080 . 1 → 10.244.1.2 . 8080',
    'node-port-endpoints4-tcp: tcp . 30080 . 65536 → 10.244.0.2 . 8080',
  ]);
  t.same(rules(plan, 'node-port-local4-tcp-2-1'), [
    'ip saddr 10.244.0.0/16 goto node-port-cluster4-tcp-2',
    'fib saddr type local goto node-port-external4-tcp-2',
    'dnat ip to meta l4proto . th dport . numgen random mod 1 offset 65536 map @node-port-endpoints4-tcp',
  ]);
  const elsewhere = planService(service(spec), [slice(b)], context());
  t.equal(rules(elsewhere, 'node-port-local4-tcp-1-0')?.at(-1), 'drop', 'no local endpoint');
  t.end();
});

t.test('local internal traffic stays on the node', (t) => {
  const local = service({ internalTrafficPolicy: 'Local' });
  t.match(lines(planService(local, [slice(a, b)], context()))[0], /goto cluster4-tcp-1$/);
  t.same(lines(planService(local, [slice(b)], context())), ['services4: 10.96.0.1 . tcp . 80 → drop']);
  t.end();
});

t.test('a service without endpoints', (t) => {
  const ending = endpoint('10.244.0.2', { conditions: { ready: false, serving: true, terminating: true } });
  for (const slices of [[], [slice()], [slice(ending)]]) {
    t.same(lines(planService(service({}), slices, context())), ['no-endpoints4: 10.96.0.1 . tcp . 80 → goto refuse']);
  }
  const gates = { ...noGates, proxyTerminatingEndpoints: true };
  t.match(
    lines(planService(service({}), [slice(ending)], context({ gates })))[0],
    /goto cluster4-tcp-1$/,
    'better than none',
  );
  t.match(lines(planService(service({}), [slice(ending, b)], context({ gates })))[0], /goto cluster4-tcp-1$/);
  t.end();
});

t.test('session affinity', (t) => {
  const spec = { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } };
  const plan = planService(service(spec), [slice(a)], context());
  const [frontend] = plan.frontends;
  const map = (frontend && affinityOf(frontend)) ?? '';
  t.match(map, /^affinity4-[0-9a-f]{12}$/);
  t.same(
    plan.contribution.sets?.map(({ name }) => name),
    [map, `${map}-ports`],
  );
  t.match(lines(plan)[2], `affinities4: 10.96.0.1 . tcp . 80 → goto remember-${map}-60`);
  t.equal(
    rules(plan, `cluster4-tcp-1-${map}`)?.[1],
    `meta l4proto { tcp, udp, sctp } dnat ip to ip saddr map @${map} : ip saddr map @${map}-ports`,
  );
  t.end();
});

t.test('SCTP', (t) => {
  const spec = { type: 'NodePort', ports: [{ port: 132, protocol: 'SCTP', nodePort: 30_132 }] };
  const endpoints = { ...slice(b), ports: [{ port: 1320, protocol: 'SCTP' }] };
  const plan = planService(service(spec), [endpoints], context());
  t.same(lines(plan), [
    'services4: 10.96.0.1 . sctp . 132 → goto cluster4-sctp-1',
    'endpoints4-sctp: 10.96.0.1 . sctp . 132 . 0 → 10.244.1.2 . 1320',
    'node-ports4: sctp . 30132 → goto node-port-external4-sctp-1',
    'node-port-endpoints4-sctp: sctp . 30132 . 0 → 10.244.1.2 . 1320',
  ]);
  t.equal(
    rules(plan, 'cluster4-sctp-1')?.at(-1),
    'dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 1 map @endpoints4-sctp',
  );
  const rejection = lines(planService(service(spec), [slice(b)], context()));
  t.equal(rejection[0], 'no-endpoints4: 10.96.0.1 . sctp . 132 → goto refuse', 'TCP endpoints are not used for SCTP');
  t.end();
});

t.test('topology hints', (t) => {
  const metadata = {
    name: 'web',
    namespace: 'default',
    annotations: { [dialect.annotations.topologyAwareHints]: 'auto' },
  };
  const hinted = (address: string, zone: string) => endpoint(address, { hints: { forZones: [{ name: zone }] } });
  const near = hinted('10.244.0.2', 'a');
  const count = (...endpoints: Endpoint[]) => {
    const [first = ''] = lines(planService(service({}, { metadata }), [slice(...endpoints)], context()));
    return Number(first.slice(first.lastIndexOf('-') + 1));
  };
  t.equal(count(near, hinted('10.244.1.2', 'b')), 1);
  t.equal(count(near, endpoint('10.244.1.2')), 2, 'one has none');
  t.equal(count(hinted('10.244.1.2', 'b'), hinted('10.244.1.3', 'b')), 2, 'no endpoint has a hint for the zone');
  t.end();
});

t.test('both families', (t) => {
  const spec = { clusterIPs: ['10.96.0.1', 'FD00::1'], ports: [{ port: 80, nodePort: 30_080 }] };
  const six: EndpointSlice = { ...slice(endpoint('fd00:0::2')), addressType: 'IPv6' };
  t.same(lines(planService(service(spec), [slice(a), six], context())).slice(-3), [
    'endpoints6-tcp: fd00::1 . tcp . 80 . 0 → fd00::2 . 8080',
    'node-ports6: tcp . 30080 → goto node-port-external6-tcp-1',
    'node-port-endpoints6-tcp: tcp . 30080 . 0 → fd00::2 . 8080',
  ]);
  t.end();
});

t.test('remaining endpoints keep their slots', (t) => {
  const before = planService(
    service({}),
    [slice(endpoint('10.0.0.1'), endpoint('10.0.0.2'), endpoint('10.0.0.3'))],
    context(),
  );
  const previousSlots = (key: string) => before.slots.get(key) ?? [];
  const after = planService(
    service({}),
    [slice(endpoint('10.0.0.2'), endpoint('10.0.0.3'))],
    context({ previousSlots }),
  );
  t.same([...after.slots.values()], [['10.0.0.3 . 8080', '10.0.0.2 . 8080']]);
  t.end();
});

t.test('the health check port', (t) => {
  const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30_999 };
  t.same(planService(service(spec), [slice(a, b)], context()).healthCheck, { port: 30_999, localEndpoints: 1 });
  const six = { ...slice(endpoint('fd00::2', { nodeName: 'here' })), addressType: 'IPv6' };
  const { healthCheck } = planService(service(spec), [slice(a, b), six], context());
  t.match(healthCheck, { localEndpoints: 1 }, 'a pod with addresses of both families counts once');
  t.equal(planService(service({}), [slice(a)], context()).healthCheck, undefined);
  t.end();
});

t.test('services of other proxies', (t) => {
  const labelled = (label: string) =>
    service({}, { metadata: { name: 'web', namespace: 'default', labels: { [label]: '' } } });
  for (const { it, skipped } of [
    { it: service({}), skipped: false },
    { it: service({ clusterIP: 'None' }), skipped: true },
    { it: service({ type: 'ExternalName' }), skipped: true },
    { it: labelled(dialect.labels.serviceProxyName), skipped: true },
    { it: labelled(dialect.labels.headlessService), skipped: true },
  ])
    t.equal(isSkipped(it, dialect), skipped);
  t.end();
});

t.test('commands as text', (t) => {
  const { contribution } = planService(service({}), [slice(a)], context());
  const nothing = { addSets: [], deleteElements: [], deleteChains: [], deleteSets: [] };
  t.equal(
    changeText('t', { ...nothing, addChains: contribution.chains, addElements: contribution.elements }),
    `add chain inet t cluster4-tcp-1
flush chain inet t cluster4-tcp-1
add rule inet t cluster4-tcp-1 ip saddr != 10.244.0.0/16 meta mark set meta mark | 0x00004000
add rule inet t cluster4-tcp-1 dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 1 map @endpoints4-tcp
add element inet t services4 { 10.96.0.1 . tcp . 80 : goto cluster4-tcp-1 }
add element inet t endpoints4-tcp { 10.96.0.1 . tcp . 80 . 0 : 10.244.0.2 . 8080 }
add element inet t hairpin4 { 10.244.0.2 . 10.244.0.2 }
`,
  );
  t.end();
});
