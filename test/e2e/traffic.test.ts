/**
 * Services and network policies between nodes: three of them, one behind a router, with addresses of both families. What
 * one node does alone is tested in services.test.ts.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { machineNodeName } from '#cmd/orch/node-identity.js';
import { eventually, whyNoServices } from '#test/e2e/harness.js';
import type { Host } from '#test/e2e/hosts.js';
import { isReady } from '#test/e2e/pods.js';
import { HostCluster } from '#test/e2e/traffic/cluster.js';
import {
  otherNamespace,
  pod,
  policies,
  rolling,
  services,
  shop,
  shopNamespace,
  tcpPorts,
  udpPorts,
} from '#test/e2e/traffic/manifests.js';
import { namespacesOfPods, Place } from '#test/e2e/traffic/place.js';
import type { Protocol, Target } from '#test/e2e/traffic/protocol.js';
import { check, type Row } from '#test/e2e/traffic/table.js';

t.setTimeout(400_000);

const first = machineNodeName();
const families = [4, 6] as const;
type Family = (typeof families)[number];
const protocols = ['TCP', 'UDP'] as const;
const portOf = { TCP: 80, UDP: 53 } as const;
const externals = { 4: '198.51.100.7', 6: '2001:db8:77::7' } as const;
const addressOf = (host: Host, family: Family) => (family === 4 ? host.address : host.address6);
const isOf = (family: Family) => (address: string) => address.includes(':') === (family === 6);

t.test('traffic between nodes', { skip: whyNoServices() ?? false }, async (t) => {
  const began = realClock.monotonic();
  const cluster = new HostCluster();
  const places = new Map<string, Place>();
  t.teardown(async () => {
    for (const place of places.values()) place.close();
    await cluster.destroy();
    t.comment(`took ${((realClock.monotonic() - began) / 1000).toFixed(0)} s`);
  });
  const place = (name: string): Place => {
    const found = places.get(name);
    if (found === undefined) throw new Error(`there is no place ${name}`);
    return found;
  };
  const took = (what: string) => t.comment(`${((realClock.monotonic() - began) / 1000).toFixed(1)} s: ${what}`);
  await cluster.start();
  took('three nodes are ready');

  const { outside, stranger } = cluster;
  const sources = [`${outside.address}/32`, `${outside.address6}/128`];
  const web = { 'web-first': first, 'web-near': 'near', 'web-far': 'far' };
  const everybody = Object.keys(web);
  const half = ['web-near', 'web-far'];
  const { excludeBalancers, zone } = orchDialect.labels;
  const labelled = (name: string, labels: Readonly<Record<string, string>>) => ({
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } },
  });
  await cluster.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: otherNamespace } },
    labelled(first, { [zone]: 'a' }),
    labelled('near', { [zone]: 'a', keeps: 'data' }),
    // Its network is another one than that of the addresses of balancers.
    labelled('far', { [zone]: 'b', [excludeBalancers]: '' }),
    ...services({ external: Object.values(externals), sources }),
    ...Object.entries(web).map(([name, node]) =>
      pod(name, node, { app: 'web', ...(half.includes(name) ? { half: 'yes' } : {}) }),
    ),
    pod('friend', 'far', { role: 'friend' }),
    pod('other', 'far', {}, { namespace: otherNamespace }),
    pod('ending', 'near', { app: 'ending' }, { terminationGracePeriodSeconds: 60 }),
    rolling(10),
  ]);
  await cluster.applyText(shop());
  const isRolled = () => cluster.ctl('rollout', 'status', 'deployment/rolling', '--timeout=90s');
  await isRolled();
  const pods = await cluster.until('all pods are ready', async () => {
    const { items } = await cluster.get<{ items: Pod[] }>('pods', '-A');
    const own = items.filter(({ metadata }) => metadata.namespace !== shopNamespace);
    return own.length >= 16 && own.every(isReady) && own;
  });
  took('all pods are ready');

  const found = await cluster.until('services have their addresses', async () => {
    const { items } = await cluster.get<{ items: Service[] }>('services');
    const isServed = ({ spec, status }: Service) =>
      spec.type !== 'LoadBalancer' || status?.loadBalancer?.ingress?.length === 2;
    return items.every(isServed) && items;
  });
  const serviceNamed = (name: string): Service => {
    const service = found.find(({ metadata }) => metadata.name === name);
    if (service === undefined) throw new Error(`there is no service ${name}`);
    return service;
  };
  const podIP = (name: string, family: Family): string => {
    const ips = pods.find(({ metadata }) => metadata.name === name)?.status?.podIPs ?? [];
    return ips.map(({ ip = '' }) => ip).find(isOf(family)) ?? '';
  };
  const asking = [...everybody, 'friend', 'other', 'ending'];
  const uids = new Map(
    pods.flatMap(({ metadata: { name = '', uid = '' } }) => (asking.includes(name) ? [[uid, name] as const] : [])),
  );
  for (const [uid, namespace] of await namespacesOfPods([...uids.keys()])) {
    const name = uids.get(uid) ?? '';
    places.set(name, new Place(name, namespace));
  }
  for (const [name, host] of [...cluster.nodes, ['outside', outside], ['stranger', stranger]] as const)
    places.set(name, new Place(name, `/run/netns/${host.name}`));
  await Promise.all(
    [...places.values()].filter(({ name }) => !cluster.nodes.has(name)).map((each) => each.serve(tcpPorts, udpPorts)),
  );

  const clusterIP = (name: string, family: Family) => serviceNamed(name).spec.clusterIPs?.find(isOf(family)) ?? '';
  const nodePort = (name: string, protocol: Protocol) =>
    serviceNamed(name).spec.ports?.find((port) => (port.protocol ?? 'TCP') === protocol)?.nodePort ?? 0;
  const atCluster = (name: string, family: Family, protocol: Protocol): Target => ({
    ...{ protocol, port: portOf[protocol], address: clusterIP(name, family) },
  });
  const atNode = (name: string, node: string, family: Family, protocol: Protocol): Target => ({
    ...{ protocol, port: nodePort(name, protocol), address: addressOf(cluster.host(node), family) },
  });
  const balancer = (name: string, family: Family, protocol: Protocol): Target => {
    const ingress = serviceNamed(name).status?.loadBalancer?.ingress ?? [];
    const address = ingress.map(({ ip = '' }) => ip).find(isOf(family)) ?? '';
    return { protocol, port: portOf[protocol], address };
  };
  /** A table of both families and protocols. */
  const all = (rows: (family: Family, protocol: (typeof protocols)[number]) => Row[]): Row[] =>
    families.flatMap((family) => protocols.flatMap((protocol) => rows(family, protocol)));
  const inside = [...everybody, ...cluster.nodes.keys()];
  const fromEach = (names: readonly string[], row: (from: Place) => Omit<Row, 'from'>): Row[] =>
    names.map((name) => ({ from: place(name), ...row(place(name)) }));

  const tables: Readonly<Record<string, () => Row[]>> = {
    'cluster addresses': () =>
      all((family, protocol) => [
        ...fromEach(inside, ({ name }) => ({
          what: 'all endpoints answer',
          to: atCluster('all', family, protocol),
          expect: everybody,
          // Pods of other nodes, too, know each other by their own addresses.
          client: everybody.includes(name) ? podIP(name, family) : undefined,
        })),
        ...fromEach(inside, () => ({
          what: 'nobody is there',
          to: atCluster('nobody', family, protocol),
          expect: [],
          how: 'ECONNREFUSED',
        })),
      ]),
    'node ports': () =>
      all((family, protocol) => [
        ...[...cluster.nodes.keys()].flatMap((node) =>
          fromEach([...inside, 'outside'], () => ({
            what: `at ${node}`,
            to: atNode('ported', node, family, protocol),
            expect: everybody,
          })),
        ),
        ...fromEach(['outside'], () => ({
          what: 'nobody is there',
          to: atNode('nobody', 'near', family, protocol),
          expect: [],
          how: 'ECONNREFUSED',
        })),
      ]),
    'node ports of services that keep traffic on the node': () =>
      all((family, protocol) => [
        ...['near', 'far'].flatMap((node) => [
          ...fromEach(['outside'], () => ({
            what: `at ${node}, from outside`,
            to: atNode('ported-kept', node, family, protocol),
            expect: [`web-${node}`],
            client: addressOf(outside, family),
          })),
          ...fromEach([`web-${node}`, node], () => ({
            what: `at its own node ${node}`,
            to: atNode('ported-kept', node, family, protocol),
            expect: half,
          })),
        ]),
        ...fromEach(['outside'], () => ({
          what: 'at a node without endpoints',
          to: atNode('ported-kept', first, family, protocol),
          expect: [],
          how: 'timeout',
        })),
      ]),
    'load balancers': () =>
      all((family, protocol) => [
        ...fromEach([...inside, 'outside', 'stranger'], () => ({
          what: 'balanced',
          to: balancer('balanced', family, protocol),
          expect: everybody,
        })),
        ...fromEach(['outside'], () => ({
          what: 'announced where endpoints are',
          to: balancer('balanced-kept', family, protocol),
          expect: ['web-near'],
          client: addressOf(outside, family),
        })),
        ...fromEach(inside, () => ({
          what: 'kept on its node, from inside',
          to: balancer('balanced-kept', family, protocol),
          expect: half,
        })),
        ...fromEach(['outside'], () => ({
          what: 'from a range that may',
          to: balancer('sourced', family, protocol),
          expect: everybody,
        })),
        ...fromEach(['stranger', 'web-near', 'far'], () => ({
          what: 'from elsewhere',
          to: balancer('sourced', family, protocol),
          expect: [],
          how: 'timeout',
        })),
      ]),
    'external addresses': () =>
      all((family, protocol) =>
        fromEach([...inside, 'outside'], () => ({
          what: 'external',
          to: { protocol, port: portOf[protocol], address: externals[family] },
          expect: everybody,
        })),
      ),
    'policies about nodes, and hints about zones': () =>
      all((family, protocol) => [
        ...['near', 'far'].flatMap((node) =>
          fromEach([`web-${node}`, node], () => ({
            what: 'internal traffic stays on its node',
            to: atCluster('inner', family, protocol),
            expect: [`web-${node}`],
          })),
        ),
        ...fromEach(['web-first', first], () => ({
          what: 'and is dropped where nobody is',
          to: atCluster('inner', family, protocol),
          expect: [],
          how: 'timeout',
        })),
        ...fromEach(['web-far', 'far'], () => ({
          what: 'in its zone',
          to: atCluster('zoned', family, protocol),
          expect: ['web-far'],
        })),
        ...fromEach(['web-first', 'near'], () => ({
          what: 'in its zone',
          to: atCluster('zoned', family, protocol),
          expect: ['web-first', 'web-near'],
        })),
      ]),
  };
  for (const family of families) {
    const via = addressOf(cluster.host('near'), family);
    await outside.run('ip', ['route', 'add', externals[family], 'via', via]);
  }
  for (const [name, rows] of Object.entries(tables)) await t.test(name, (t) => check(t, rows()));

  await t.test('headless services', async (t) => {
    const asked = 'nslookup headless.default.svc.cluster.local';
    const said = await cluster.ctl('exec', 'web-far', '--', 'sh', '-c', asked);
    for (const name of everybody)
      for (const family of families) t.match(said, podIP(name, family), `the addresses of ${name} are found`);
  });

  await t.test('health checks of balancers', async (t) => {
    const { healthCheckNodePort } = serviceNamed('balanced-kept').spec;
    for (const [name, { address }] of cluster.nodes) {
      const url = `http://${address}:${healthCheckNodePort}/healthz`;
      const { stdout } = await outside.run('curl', ['-s', '-w', ' %{http_code}', url]);
      const local = name === first ? 0 : 1;
      t.match(stdout, `"localEndpoints": ${local}`, `${name} tells how many endpoints it has`);
      t.ok(stdout.endsWith(local === 0 ? ' 503' : ' 200'), stdout);
    }
  });

  await t.test('session affinity', async (t) => {
    const asked = all((family, protocol) =>
      fromEach(inside, () => ({ what: 'at one of them', to: atCluster('sticky', family, protocol), expect: [] })),
    );
    await Promise.all(
      asked.map(async ({ from, to }) => {
        const { answers, failures } = await from.ask(to, { expect: [], least: 15 });
        t.same(failures, []);
        t.equal(Object.keys(answers).length, 1, `${from.name} stays at ${Object.keys(answers)}`);
      }),
    );
  });

  const noSctp = !/^SCTP /m.test(readFileSync('/proc/net/protocols', 'utf8'));
  await t.test('SCTP', { skip: noSctp ? 'the kernel has none' : 'Node.js has no sockets for it' }, () => undefined);

  await t.test('endpoints that end, where there are no others', async (t) => {
    await cluster.ctl('delete', 'pod', 'ending', '--wait=false');
    await cluster.until('it is about to end', async () => {
      const { items } = await cluster.get<{ items: EndpointSlice[] }>(
        ...['endpointslices', '-l', `${orchDialect.labels.serviceName}=ending`],
      );
      return items.flatMap(({ endpoints }) => endpoints).every(({ conditions }) => conditions?.ready === false);
    });
    const rows = all((family, protocol) =>
      fromEach(inside, () => ({ what: 'it answers', to: atCluster('ending', family, protocol), expect: ['ending'] })),
    );
    await check(t, rows);
    await cluster.ctl('delete', 'pod', 'ending', '--grace-period=0', '--force', '--wait=false');
  });

  await t.test('network policies', async (t) => {
    const enter = [
      { cidr: '10.250.0.0/24', except: [`${stranger.address}/32`] },
      { cidr: 'fd00:250::/64', except: [`${stranger.address6}/128`] },
    ];
    await cluster.apply(policies({ enter }));
    const at = (name: string, family: Family, protocol: Protocol, port: number): Target => ({
      ...{ protocol, port, address: podIP(name, family) },
    });
    const may = (from: string, to: Target, expect: string | undefined): Row => ({
      ...{ what: expect === undefined ? 'may not' : 'may', from: place(from), to },
      ...(expect === undefined ? { expect: [], how: 'timeout' as const } : { expect: [expect] }),
    });
    // What is dropped first: everything was let through a moment ago.
    const rows = families.flatMap((family): Row[] => [
      ...everybody.flatMap((name) => [
        may('friend', at(name, family, 'TCP', 8081), undefined),
        may('friend', at(name, family, 'UDP', 8053), undefined),
        may('friend', at(name, family, 'TCP', 8080), name),
        may('other', at(name, family, 'TCP', 8082), undefined),
        may('other', at(name, family, 'UDP', 8053), undefined),
        may('other', at(name, family, 'TCP', 8080), name),
        may('other', at(name, family, 'TCP', 8081), name),
        ...everybody
          .filter((other) => other !== name)
          .map((other) => may(other, at(name, family, 'TCP', 8080), undefined)),
        may(web[name as keyof typeof web], at(name, family, 'TCP', 8082), name),
      ]),
      // At the ports of a node that keeps traffic, clients are known by their addresses.
      ...protocols.flatMap((protocol) => [
        may('stranger', atNode('ported-kept', 'near', family, protocol), undefined),
        may('outside', atNode('ported-kept', 'near', family, protocol), 'web-near'),
        may('outside', atNode('ported-kept', 'far', family, protocol), 'web-far'),
      ]),
      may('friend', { protocol: 'TCP', port: 8080, address: addressOf(stranger, family) }, undefined),
      may('friend', { protocol: 'TCP', port: 8082, address: addressOf(outside, family) }, undefined),
      may('friend', { protocol: 'TCP', port: 8081, address: addressOf(outside, family) }, 'outside'),
      may('friend', { protocol: 'TCP', port: 8080, address: podIP('other', family) }, undefined),
    ]);
    await check(t, rows);
    await cluster.ctl('delete', 'networkpolicy', 'web', 'friend');
  });
  took('services and policies');

  /** Clients everywhere that make a connection after the other, and try nothing again; what did not work. */
  const keepAsking = async (names: readonly string[], pauseMs = 100) => {
    const targets = new Map<string, Target[]>(
      names.map((name) => [
        name,
        families.flatMap((family) => [
          ...(name === 'outside' ? [] : [atCluster('rolling', family, 'TCP')]),
          ...(name === 'outside' ? [first, 'far'].map((node) => atNode('rolling', node, family, 'TCP')) : []),
        ]),
      ]),
    );
    await Promise.all([...targets].map(([name, each]) => place(name).keepAsking(each, { pauseMs })));
    return async () => {
      const reports = await Promise.all(names.map(async (name) => ({ name, ...(await place(name).report()) })));
      const failures = reports.flatMap(({ failures: each, name }) => each.map((failure) => ({ name, ...failure })));
      const answers = reports.flatMap((report) => Object.values(report.answers));
      return { failures, answered: answers.reduce((sum, count) => sum + count, 0) };
    };
  };
  await t.test('a rolling update refuses nobody', async (t) => {
    const end = await keepAsking([...inside, 'outside']);
    await cluster.ctl('rollout', 'restart', 'deployment/rolling');
    await isRolled();
    // The last ones are still about to end.
    await realClock.sleep(3000);
    const { answered, failures } = await end();
    t.same(failures, [], `${answered} connections, none of which failed`);
    t.ok(answered > 500, `${answered} connections`);
  });
  took('the update');

  const curl = async (path: string, ...more: string[]) =>
    (
      await outside.run('curl', [
        '-s',
        '-m',
        '5',
        '-w',
        '%{http_code}',
        ...more,
        `http://${cluster.first.address}${path}`,
      ])
    ).stdout;

  await t.test('the shop sells', async (t) => {
    const items = 'apple 2\nbread 5\ncheese 9\n200';
    t.ok(await cluster.until('it is open', async () => (await curl('/cgi-bin/items')) === items));
    t.equal(await curl('/cgi-bin/orders', '-d', 'apple'), 'ordered: apple\n201');
  });

  await t.test('traffic goes on while nothing else does', async (t) => {
    const end = await keepAsking([...inside, 'outside']);
    cluster.kill(cluster.first, 'etcd');
    await cluster.until('the store is there again', () => cluster.ctl('get', 'nodes'));
    // API server, controllers and the scheduler are in the first one's process; agents and proxies in each.
    for (const name of [first, 'far']) cluster.kill(cluster.host(name), 'orch');
    cluster.kill(cluster.first, 'etcd');
    await realClock.sleep(1000);
    // What makes the rules changes, too, without anybody's noticing.
    cluster.proxyMode = 'iptables';
    await Promise.all([cluster.up(), cluster.join('far')]);
    const { answered, failures } = await end();
    t.same(failures, [], `${answered} connections, none of which failed`);
    const { items } = await cluster.get<{ items: Pod[] }>('pods');
    for (const { metadata, status } of items)
      t.equal(status?.containerStatuses?.[0]?.restartCount, 0, `${metadata.name} was left alone`);
  });
  took('everything was killed');

  await t.test('services where some nodes have iptables', async (t) => {
    // Not every combination again.
    const isMuch = ({ to }: Row) => to.protocol === 'UDP' && to.address.includes(':');
    for (const rows of Object.values(tables))
      await check(
        t,
        rows().filter((row) => !isMuch(row)),
      );
  });
  took('some nodes have iptables');

  await t.test('a node that dies', async (t) => {
    // They die with it.
    for (const name of ['near', 'web-near']) {
      places.get(name)?.close();
      places.delete(name);
    }
    const survivors = ['web-first', 'web-far', first, 'far', 'outside'];
    const end = await keepAsking(survivors);
    const lost = realClock.now();
    await cluster.lose('near');
    const readyOn = async (node: string) => {
      const { items } = await cluster.get<{ items: EndpointSlice[] }>('endpointslices', '-A');
      // Null where there are none, as in 1.24.
      return items.flatMap(({ endpoints }) =>
        ((endpoints as EndpointSlice['endpoints'] | null) ?? []).filter(
          ({ conditions, nodeName }) => nodeName === node && conditions?.ready !== false,
        ),
      );
    };
    await cluster.until('its endpoints are no more', async () => (await readyOn('near')).length === 0);
    t.comment(`its endpoints went after ${((realClock.now() - lost) / 1000).toFixed(1)} s`);
    const { failures } = await end();
    t.ok(
      failures.every(({ why }) => why !== 'ECONNREFUSED'),
      'until then those who reached it waited in vain',
    );
    // Each proxy learns it a moment later.
    await eventually('nobody is sent there any more', async () => {
      const endSample = await keepAsking(survivors, 5);
      await realClock.sleep(500);
      const sample = await endSample();
      return sample.failures.length === 0 && sample.answered > 0;
    });
    const endAfter = await keepAsking(survivors);
    await isRolled();
    const after = await endAfter();
    t.same(after.failures, [], `${after.answered} connections while its pods are replaced, none of which failed`);
    const { items } = await cluster.get<{ items: Pod[] }>('pods', '-A');
    const stay = items.filter(({ spec }) => spec.nodeName === 'near');
    t.ok(
      stay.length > 0 && stay.every(({ metadata }) => metadata.deletionTimestamp !== undefined),
      'its pods are to end, and nobody can say whether they have',
    );
    const databases = items.filter(({ metadata }) => metadata.name === 'database-0');
    t.match(databases, [{ spec: { nodeName: 'near' } }], 'a set starts no second pod of a name');
    await cluster.until('the shop shows its pages', async () => (await curl('/')).endsWith('200'));
    await cluster.until('and knows what it lacks', async () => (await curl('/cgi-bin/orders')).endsWith('503'));
    const moved = all((family, protocol) =>
      fromEach(['outside'], () => ({
        what: 'the addresses of balancers have moved',
        to: balancer('balanced', family, protocol),
        expect: ['web-first', 'web-far'],
      })),
    );
    await check(t, moved);
  });
  took('a node died');

  await t.test('a node that comes back', async (t) => {
    await cluster.regain('near');
    const orders = await cluster.until('the shop knows its orders', async () => {
      const said = await curl('/cgi-bin/orders');
      return said.endsWith('200') && said;
    });
    t.equal(orders, 'apple\n200', 'nothing is lost');
    const database = await cluster.get<Pod>('pod', 'database-0', '-n', shopNamespace);
    t.match(database, { spec: { nodeName: 'near' }, status: { containerStatuses: [{ restartCount: 0 }] } });
    const left = await cluster.until('nothing is left of what ran there', async () => {
      const { items } = await cluster.get<{ items: Pod[] }>('pods', '-A');
      return items.every(({ metadata }) => metadata.deletionTimestamp === undefined);
    });
    t.ok(left);
  });
  took('it is back');
});
