/** Service addresses and ports across API servers: they survive restarts, are never allocated twice, and are repaired. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { events, services } from '#api/core/v1/resources.gen.js';
import type { Event, Service, ServiceSpec } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { buildApiServer } from '#apiserver/build/build.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import type { ResourceClient } from '#client/client.js';
import { ensureClusterPki } from '#cluster/pki/cluster-pki.js';
import { silentLogger } from '#daemon/log/logger.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { parseOptions } from '#daemon/options/parse.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Store } from '#storage/store.js';
import { eventually } from '#test/e2e/harness.js';

interface Running {
  readonly services: ResourceClient<Service>;
  readonly events: ResourceClient<Event>;
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

const namespace = 'default';

async function keys(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'services-'));
  t.teardown(() => rm(directory, { recursive: true }));
  await ensureClusterPki(directory, { dialect, names: [], ips: [], now: realClock.now() });
  return directory;
}

async function start(t: Test, store: Store, directory: string, ranges = '10.0.0.0/24'): Promise<Running> {
  const argv = [
    ...['--secure-port', '0', '--authorization-mode', 'AlwaysAllow', '--service-account-issuer', 'https://a'],
    ...['--service-account-signing-key-file', join(directory, 'sa.key')],
    ...['--service-account-key-file', join(directory, 'sa.pub')],
    ...['--service-cluster-ip-range', ranges, '--service-node-port-range', '30000-30199'],
  ];
  const parsed = parseOptions(apiServerOptions(dialect), argv, { program: 'test' });
  if (parsed.kind !== 'run') throw new Error(parsed.kind);
  const metrics = createRegistry({ dialect });
  const { values } = parsed;
  const setup = { dialect, clock: realClock, log: silentLogger, random: Math.random, store, values, metrics };
  const server = await buildApiServer(setup);
  const stopping = new AbortController();
  const work = server.start(stopping.signal);
  await server.ready();
  const stop = () => {
    stopping.abort();
    return work;
  };
  t.teardown(stop);
  return {
    services: server.client.resource<Service>(services),
    events: server.client.resource<Event>(events),
    metrics: () => metrics.metrics(),
    stop,
  };
}

const service = (name: string, spec: ServiceSpec = {}): Service => ({
  metadata: { name, namespace },
  spec: { ports: [{ port: 80 }], ...spec },
});

const numbersOf = ({ spec = {} }: Service) => [
  ...(spec.clusterIPs ?? []),
  ...(spec.ports ?? []).map(({ nodePort }) => nodePort ?? 0),
  spec.healthCheckNodePort ?? 0,
];

t.test('several servers allocate each number once, and restarts keep them', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  t.teardown(() => store.close());
  const directory = await keys(t);
  const servers = [await start(t, store, directory), await start(t, store, directory)];
  const created = await Promise.all(
    Array.from({ length: 60 }, (_, i) => servers[i % 2]?.services.create(service(`s${i}`, { type: 'NodePort' }))),
  );
  const ips = created.map((each) => each?.spec?.clusterIP ?? '');
  const ports = created.map((each) => each?.spec?.ports?.[0]?.nodePort ?? 0);
  t.equal(new Set(ips).size, 60, 'addresses');
  t.equal(new Set(ports).size, 60, 'node ports');
  for (const server of servers) await server.stop();

  const next = await start(t, store, directory);
  t.same((await next.services.get('s7', { namespace })).spec, created[7]?.spec);
  const again = (ip: string) => next.services.create(service('again', { clusterIP: ip }));
  await t.rejects(again(ips[7] ?? ''), { message: /provided IP is already allocated/ });
  await next.services.delete('s7', { namespace });
  t.equal((await again(ips[7] ?? '')).spec?.clusterIP, ips[7], 'given back by the delete');
  const text = await next.metrics();
  // The API's own Service has another one.
  t.match(text, /^kube_apiserver_clusterip_allocator_allocated_ips\{cidr="10\.0\.0\.0\/24"\} 61$/m);
  t.match(text, /^kube_apiserver_clusterip_allocator_available_ips\{cidr="10\.0\.0\.0\/24"\} 193$/m);
  t.match(text, /^kube_apiserver_clusterip_allocator_allocation_errors_total\{cidr="10\.0\.0\.0\/24"\} [1-9]/m);
});

t.test('two families', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  t.teardown(() => store.close());
  const { services: client } = await start(t, store, await keys(t), '10.0.0.0/24,fd00::/112');
  const create = async (name: string, spec: ServiceSpec) => (await client.create(service(name, spec))).spec ?? {};
  const [four, six] = [/^10\.0\.0\.\d+$/, /^fd00::[0-9a-f]+$/];
  t.match(await create('single', {}), { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'], clusterIPs: [four] });
  t.match(await create('six', { ipFamilies: ['IPv6'] }), { ipFamilies: ['IPv6'], clusterIPs: [six], clusterIP: six });
  for (const ipFamilyPolicy of ['PreferDualStack', 'RequireDualStack']) {
    const both = { ipFamilyPolicy, ipFamilies: ['IPv4', 'IPv6'], clusterIPs: [four, six] };
    t.match(await create(ipFamilyPolicy.toLowerCase(), { ipFamilyPolicy }), both);
  }
  t.match(await create('turned', { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6', 'IPv4'] }), {
    clusterIP: six,
    clusterIPs: [six, four],
  });
  const clusterIPs = ['10.0.0.77', 'fd00::77'];
  await t.rejects(create('asked', { ipFamilyPolicy: 'RequireDualStack', clusterIPs }), {
    message: /must be empty when `clusterIP` is not specified/,
  });
  t.match(await create('asked', { ipFamilyPolicy: 'RequireDualStack', clusterIP: '10.0.0.77', clusterIPs }), {
    clusterIPs,
    ipFamilies: ['IPv4', 'IPv6'],
  });
  await t.rejects(create('taken', { ipFamilies: ['IPv6'], clusterIP: 'fd00::77' }), { message: /already allocated/ });
  const upgraded = await client.get('single', { namespace });
  const more = { ...upgraded, spec: { ...upgraded.spec, ipFamilyPolicy: 'PreferDualStack' } };
  const { clusterIP } = upgraded.spec ?? {};
  t.match((await client.update(more)).spec, { clusterIP, clusterIPs: [clusterIP, six], ipFamilies: ['IPv4', 'IPv6'] });
  const both = await client.get('single', { namespace });
  const { clusterIPs: bothIPs = [], ipFamilies = [] } = both.spec ?? {};
  const less = {
    ...both,
    spec: {
      ...both.spec,
      ipFamilyPolicy: 'SingleStack',
      clusterIPs: bothIPs.slice(0, 1),
      ipFamilies: ipFamilies.slice(0, 1),
    },
  };
  t.match((await client.update(less)).spec, { clusterIP, ipFamilies: ['IPv4'] });
  t.match(await create('freed', { ipFamilies: ['IPv6'], clusterIP: bothIPs[1] ?? '' }), {
    clusterIP: bothIPs[1],
  });
});

t.test('Services without numbers, and with one more', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  t.teardown(() => store.close());
  const { services: client } = await start(t, store, await keys(t));
  const create = (name: string, spec: ServiceSpec) => client.create(service(name, spec));
  const headless = await create('headless', { clusterIP: 'None', selector: { a: 'b' } });
  t.match(headless.spec, {
    clusterIP: 'None',
    clusterIPs: ['None'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
  });
  const external = await create('external', { type: 'ExternalName', externalName: 'a.example' });
  t.same(numbersOf(external), [0, 0]);
  t.notOk('clusterIP' in (external.spec ?? {}));
  const local = await create('local', { type: 'LoadBalancer', externalTrafficPolicy: 'Local' });
  const { healthCheckNodePort = 0 } = local.spec ?? {};
  t.ok(healthCheckNodePort >= 30_000 && healthCheckNodePort !== local.spec?.ports?.[0]?.nodePort);
  await t.rejects(create('taken', { type: 'NodePort', ports: [{ port: 1, nodePort: healthCheckNodePort }] }), {
    message: /provided port is already allocated/,
  });
  const moved = { ...local, spec: { ...local.spec, externalTrafficPolicy: 'Cluster' } };
  delete (moved.spec as { healthCheckNodePort?: number }).healthCheckNodePort;
  t.notOk((await client.update(moved)).spec?.healthCheckNodePort, 'not needed any more');
  t.ok(await create('freed', { type: 'NodePort', ports: [{ port: 1, nodePort: healthCheckNodePort }] }));
  const none = await create('none', { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false });
  t.same(
    none.spec?.ports?.map(({ nodePort }) => nodePort),
    [undefined],
  );
});

t.test('inconsistencies are repaired in the background, or reported', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  t.teardown(() => store.close());
  const directory = await keys(t);
  const first = await start(t, store, directory);
  const good = await first.services.create(service('good', { type: 'NodePort' }));
  await first.stop();
  // As left by a broken server: a second holder of all numbers, numbers outside of the ranges, and no record.
  const put = (name: string, spec: ServiceSpec) => {
    const kept = { metadata: { name, namespace, uid: name }, spec: { ...good.spec, ...spec }, status: {} };
    const stored = { kind: 'Service', apiVersion: 'v1', ...kept };
    return store.create(`/registry/services/${namespace}/${name}`, Buffer.from(JSON.stringify(stored)));
  };
  await put('twin', {});
  await put('stranger', { clusterIP: '10.9.9.9', clusterIPs: ['10.9.9.9'], ports: [{ port: 80, nodePort: 29_000 }] });
  const { kvs } = await store.range({ start: '/registry/ranges/', end: '/registry/ranges0' });
  for (const { key, modRevision } of kvs) await store.delete(key, modRevision);

  const second = await start(t, store, directory);
  const expected = [
    'good: ClusterIPNotAllocated',
    'good: PortNotAllocated',
    'stranger: ClusterIPOutOfRange',
    'stranger: PortOutOfRange',
    'twin: ClusterIPAlreadyAllocated',
    'twin: PortAlreadyAllocated',
  ];
  const reported = async () => {
    const { items } = await second.events.list({ namespace });
    const lines = items.map(({ involvedObject, reason, type }) => `${type} ${involvedObject.name}: ${reason}`);
    return new Set(lines);
  };
  await eventually('every finding has its event', async () => {
    const lines = await reported();
    return expected.every((line) => lines.has(`Warning ${line}`));
  });
  await t.rejects(second.services.create(service('thief', { clusterIP: good.spec?.clusterIP ?? '' })), {
    message: /already allocated/,
  });
});
