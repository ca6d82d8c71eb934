/**
 * Services and network policies between three nodes, one behind a router, with addresses of both families. The file
 * services.test.ts tests a single node.
 */
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import type { Pod, Service } from '#api/core/v1/types.gen.js';
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { whyNoServices } from '#test/e2e/harness.js';
import { isReady } from '#test/e2e/pods.js';
import { Addresses, addressOf, all, families } from '#test/e2e/traffic/addresses.js';
import { HostCluster } from '#test/e2e/traffic/cluster.js';
import {
  externals,
  otherNamespace,
  pod,
  policies,
  rolling,
  services,
  shop,
  shopNamespace,
  webPod,
  webPods,
} from '#test/e2e/traffic/manifests.js';
import { Places } from '#test/e2e/traffic/places.js';
import { policyRows } from '#test/e2e/traffic/policy-rows.js';
import { serviceTables } from '#test/e2e/traffic/service-tables.js';
import { check, type Row } from '#test/e2e/traffic/table.js';

t.setTimeout(400_000);

/** Whether the text has the address, and not only one that begins or ends like it. */
function names(text: string, address: string): boolean {
  const literal = address.replaceAll('.', '\\.');
  // Characters of an address of the family; a port after an IPv4 address is no part of it.
  const part = address.includes(':') ? '[\\w:]' : '[\\d.]';
  return new RegExp(`(?<!${part})${literal}(?!${part})`).test(text);
}

t.test('traffic between nodes', { skip: whyNoServices() ?? false }, async (t) => {
  const began = realClock.monotonic();
  const cluster = new HostCluster();
  const places = new Places(cluster);
  t.teardown(async () => {
    places.close();
    await cluster.destroy();
    t.comment(`took ${((realClock.monotonic() - began) / 1000).toFixed(0)} s`);
  });
  const took = (what: string) => t.comment(`${((realClock.monotonic() - began) / 1000).toFixed(1)} s: ${what}`);
  await cluster.start();
  took('three nodes are ready');

  const { firstName: first, outside, stranger } = cluster;
  const sources = [`${outside.address}/32`, `${outside.address6}/128`];
  const { excludeBalancers, zone } = orchDialect.labels;
  const labelled = (name: string, labels: Readonly<Record<string, string>>) => ({
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } },
  });
  await cluster.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: otherNamespace } },
    labelled(first, { [zone]: 'a' }),
    labelled('near', { [zone]: 'a', keeps: 'data' }),
    // The addresses of balancers are not in the network of this node.
    labelled('far', { [zone]: 'b', [excludeBalancers]: '' }),
    ...services({ sources }),
    ...webPods.map((name) => webPod(name, cluster.nodeOf(name))),
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

  const serviceList = await cluster.until('services have their addresses', async () => {
    const { items } = await cluster.get<{ items: Service[] }>('services');
    const isServed = ({ spec, status }: Service) =>
      spec.type !== 'LoadBalancer' || status?.loadBalancer?.ingress?.length === 2;
    return items.every(isServed) && items;
  });
  const at = new Addresses(cluster, { pods, services: serviceList });
  const asking = [...webPods, 'friend', 'other', 'ending'];
  await places.open(
    new Map(
      pods.flatMap(({ metadata: { name = '', uid = '' } }) => (asking.includes(name) ? [[uid, name] as const] : [])),
    ),
  );
  const inside = [...webPods, ...cluster.nodes.keys()];
  const tables = serviceTables(cluster, at, places);
  for (const family of families) {
    const via = addressOf(cluster.host('near'), family);
    await outside.run('ip', ['route', 'add', externals[family], 'via', via]);
  }
  for (const [name, rows] of Object.entries(tables)) await t.test(name, (t) => check(t, rows()));

  await t.test('headless services', async (t) => {
    const lookup = 'nslookup headless.default.svc.cluster.local';
    const said = await cluster.ctl('exec', 'web-far', '--', 'sh', '-c', lookup);
    for (const name of webPods)
      for (const family of families) t.match(said, at.podIP(name, family), `the answer has the addresses of ${name}`);
  });

  await t.test('health checks of balancers', async (t) => {
    const { healthCheckNodePort } = at.service('balanced-kept').spec;
    for (const [name, { address }] of cluster.nodes) {
      const url = `http://${address}:${healthCheckNodePort}/healthz`;
      const { stdout } = await outside.run('curl', ['-s', '-w', ' %{http_code}', url]);
      const local = name === first ? 0 : 1;
      t.match(stdout, `"localEndpoints": ${local}`, `${name} tells how many endpoints it has`);
      t.ok(stdout.endsWith(local === 0 ? ' 503' : ' 200'), stdout);
    }
  });

  await t.test('session affinity', async (t) => {
    const requests = all((family, protocol) =>
      places.each(inside, () => ({ what: 'at one of them', to: at.cluster('sticky', family, protocol), expect: [] })),
    );
    await Promise.all(
      requests.map(async ({ from, to }) => {
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
      places.each(inside, () => ({
        what: 'it answers',
        to: at.cluster('ending', family, protocol),
        expect: ['ending'],
      })),
    );
    await check(t, rows);
    await cluster.ctl('delete', 'pod', 'ending', '--grace-period=0', '--force', '--wait=false');
  });

  const isolate = async (t: Test) => {
    const enter = [
      { cidr: '10.250.0.0/24', except: [`${stranger.address}/32`] },
      { cidr: 'fd00:250::/64', except: [`${stranger.address6}/128`] },
    ];
    await cluster.apply(policies({ enter }));
    await check(t, policyRows(cluster, at, places));
    await cluster.ctl('delete', 'networkpolicy', 'web', 'friend');
  };
  await t.test('network policies', isolate);
  took('services and policies');

  /** Clients on all places; returns the failures. */
  const keepAsking = (names: readonly string[], pauseMs?: number) =>
    places.keepAsking(
      names,
      (name) =>
        families.flatMap((family) =>
          name === 'outside'
            ? [first, 'far'].map((node) => at.node('rolling', node, family, 'TCP'))
            : [at.cluster('rolling', family, 'TCP')],
        ),
      pauseMs,
    );
  await t.test('a rolling update refuses no connection', async (t) => {
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
    // The proxy mode changes, too, without any failed connection.
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
  await t.test('network policies where some nodes have iptables', isolate);
  took('some nodes have iptables');

  await t.test('a node that dies', async (t) => {
    // These places die with the node.
    places.close('near', 'web-near');
    const replaced = (await cluster.get<{ items: Pod[] }>('pods', '-l', 'app=rolling')).items
      .filter(({ spec }) => spec.nodeName === 'near')
      .flatMap(({ status }) => (status?.podIPs ?? []).map(({ ip = '' }) => ip));
    const survivingRules = async () =>
      (await Promise.all([first, 'far'].map((name) => cluster.rules(cluster.host(name))))).join('\n');
    const led = await survivingRules();
    t.ok(replaced.length > 0 && replaced.every((ip) => names(led, ip)), 'the others lead to its pods');
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
    // Each proxy learns it a moment later, and a sample of connections may miss the one that has not.
    await cluster.until('no rule sends connections there any more', async () => {
      const rules = await survivingRules();
      return !replaced.some((ip) => names(rules, ip));
    });
    const startMs = realClock.now();
    const endAfter = await keepAsking(survivors);
    await isRolled();
    const after = await endAfter();
    for (const { at: failed, name, target, why } of after.failures)
      t.comment(`${name} to ${target.address}: ${why}, ${failed - startMs} ms after its rules had gone`);
    t.same(after.failures, [], `${after.answered} connections while its pods are replaced, none of which failed`);
    const { items } = await cluster.get<{ items: Pod[] }>('pods', '-A');
    const stay = items.filter(({ spec }) => spec.nodeName === 'near');
    t.ok(
      stay.length > 0 && stay.every(({ metadata }) => metadata.deletionTimestamp !== undefined),
      'its pods are being deleted, and stay while their node is lost',
    );
    const databases = items.filter(({ metadata }) => metadata.name === 'database-0');
    t.match(databases, [{ spec: { nodeName: 'near' } }], 'a set starts no second pod of a name');
    await cluster.until('the shop shows its pages', async () => (await curl('/')).endsWith('200'));
    await cluster.until('and knows what it lacks', async () => (await curl('/cgi-bin/orders')).endsWith('503'));
    const moved = all((family, protocol) =>
      places.each(['outside'], () => ({
        what: 'the addresses of balancers have moved',
        to: at.balancer('balanced', family, protocol),
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
