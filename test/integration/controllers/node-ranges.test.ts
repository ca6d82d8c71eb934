/** Pod ranges and object TTLs of nodes, against a real API server and a real store. */
import t from 'tap';
import { events, nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { isInvalid } from '#apimachinery/errors/status.js';
import { runManager, startCluster, until } from '#test/integration/controllers/cluster.js';
import { startEtcdStore } from '#test/integration/controllers/cluster-store.js';

const controllers = ['nodeipam', 'ttl'];

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`nodes get ranges, ${dialect.name}`, async (t) => {
    const values = {
      'allocate-node-cidrs': true,
      'cluster-cidr': '10.0.0.0/22,fd00::/62',
      'service-cluster-ip-range': '10.0.0.0/24',
    };
    const client = await startCluster(t, { dialect, controllers: [], ...(await startEtcdStore(t)) });
    const resource = client.resource(nodes);
    const add = (name: string, spec: Node['spec'] = {}) => resource.create({ metadata: { name }, spec });
    const ranges = (name: string) =>
      until(
        `ranges of ${name}`,
        async () => (await resource.get(name)).spec.podCIDRs ?? [],
        (cidrs) => cidrs.length > 0,
      );
    await add('a');
    await add('chosen', { podCIDRs: ['10.0.2.0/24', 'fd00::/64'] });
    const end = await runManager(t, { client, dialect, controllers, values });
    t.same(await ranges('a'), ['10.0.1.0/24', 'fd00:0:0:1::/64']);
    t.equal((await resource.get('a')).spec.podCIDR, '10.0.1.0/24');
    await until(
      'the annotation',
      () => resource.get('a'),
      ({ metadata }) => metadata.annotations?.[dialect.annotations.nodeTTL] === '0',
    );
    await Promise.all(['b', 'c'].map((name) => add(name)));
    const nodeEvents = () => client.resource(events).list({ namespace: dialect.namespaces.default });
    const [event] = await until(
      'an event',
      async () => (await nodeEvents()).items.filter(({ reason }) => reason === 'CIDRNotAvailable'),
      (items) => items.length > 0,
    );
    const name = event?.involvedObject.name ?? '';
    const other = name === 'b' ? 'c' : 'b';
    t.match(event, { type: 'Normal', message: `Node ${name} status is now: CIDRNotAvailable` });
    t.same(await ranges(other), ['10.0.3.0/24', 'fd00:0:0:2::/64']);

    // Another manager takes over, and handles the waiting node.
    await end();
    await resource.delete('a');
    await runManager(t, { client, dialect, controllers, values });
    const assigned = await ranges(name);
    t.equal(assigned[0], '10.0.1.0/24');
    t.same(await ranges(other), ['10.0.3.0/24', 'fd00:0:0:2::/64'], 'nothing has changed');

    // The rejections on which the controller relies.
    const uid = (await resource.get(name)).metadata.uid;
    const range = (podCIDR: string) => ({ spec: { podCIDR, podCIDRs: [podCIDR] } });
    await add('late');
    for (const [node, patch] of [
      [name, range('10.0.9.0/24')],
      ['late', { metadata: { uid }, ...range('10.0.9.0/24') }],
    ] as const) {
      const refused = await resource.patch(node, patch, { type: 'strategic' }).catch((error: unknown) => error);
      t.ok(isInvalid(refused), node);
    }
  });
}
