import t from 'tap';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import type { NetworkPlan } from '#podnetwork/plan.js';
import { PodNetwork } from '#podnetwork/pod-network.js';

const node = (name: string, place: number): Node => ({
  metadata: { name },
  spec: { podCIDRs: [`10.244.${place}.0/24`] },
  status: {
    addresses: [
      { type: 'InternalIP', address: `192.0.2.${place}` },
      { type: 'Hostname', address: name },
    ],
  },
});

t.test('routes follow the nodes', async (t) => {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: [nodes] });
  const shared = { clock, random: () => 0.5, log: silentLogger };
  const informers = new SharedInformerFactory({ ...shared, client: api.client });
  const applied: NetworkPlan[] = [];
  let failures = 0;
  const network = new PodNetwork({
    ...{ ...shared, informers, own: ['n1'], tunnel: 'vx' },
    kernel: {
      links: async () => [{ link: 'eth0', address: '192.0.2.1', prefix: 24, mtu: 1500 }],
      async apply(plan) {
        if (failures-- > 0) throw new Error('the kernel is busy');
        applied.push(plan);
      },
    },
  });
  api.seed(nodes, node('n1', 1));
  const stop = new AbortController();
  const running = [informers.start(stop.signal), network.start(stop.signal)];
  t.teardown(async () => {
    stop.abort();
    await Promise.all(running);
    await network.close();
  });
  const routes = () => applied.at(-1)?.routes.map(({ destination }) => destination);
  await clock.advance(1000);
  await network.ready();
  t.same(routes(), []);
  await clock.advance(600_000);
  t.equal(applied.length, 1, 'a single node does not check its routes every 30 seconds');
  api.seed(nodes, node('n2', 2));
  await clock.advance(1000);
  t.same(routes(), ['10.244.2.0/24']);
  const before = applied.length;
  api.change<Node>(nodes, 'n2', ({ metadata }) => {
    metadata.labels = { a: 'b' };
  });
  await clock.advance(1000);
  t.equal(applied.length, before, 'a change of labels is ignored');
  await clock.advance(31_000);
  t.equal(applied.length, before + 1, 'routes are checked periodically');
  failures = 2;
  api.seed(nodes, node('n3', 3));
  await clock.advance(5000);
  t.same(routes(), ['10.244.2.0/24', '10.244.3.0/24'], 'failures are retried');
  api.remove(nodes, 'n2');
  await clock.advance(1000);
  t.same(routes(), ['10.244.3.0/24']);
});
