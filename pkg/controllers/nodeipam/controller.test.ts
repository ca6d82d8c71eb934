import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { internalError, serverTimeout } from '#apimachinery/errors/status.js';
import { parseCIDR } from '#apimachinery/net/ip.js';
import { controllerMetrics } from '#controllers/framework/metrics.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { NodeIPAMController } from '#controllers/nodeipam/controller.js';
import { refusal } from '#controllers/nodeipam/testing/server-rules.js';

/** `ranges`: each with the prefix length of node blocks: `10.0.0.0/16/24`. */
function setUp(t: Test, ranges: readonly string[] = ['10.0.0.0/22/24'], services: readonly string[] = []) {
  const harness = new Harness(t, [nodes]);
  const { api } = harness;
  api.intercept((call) => refusal(api, call));
  const metrics = new Registry();
  const blocks = (texts: readonly string[]) => texts.flatMap((text) => parseCIDR(text) ?? []);
  const split = ranges.map((text) => [text.slice(0, text.lastIndexOf('/')), text.slice(text.lastIndexOf('/') + 1)]);
  const controller = new NodeIPAMController(
    { ...harness.context, metrics: controllerMetrics(metrics) },
    {
      ranges: split.flatMap(([range = '', prefix]) =>
        blocks([range]).map((block) => ({ range: block, prefix: Number(prefix) })),
      ),
      serviceRanges: blocks(services),
    },
  );
  const add = (name: string, podCIDRs: string[] = []) =>
    api.seed<Node>(nodes, {
      metadata: { name },
      spec: podCIDRs.length === 0 ? {} : { podCIDR: podCIDRs[0] ?? '', podCIDRs },
    });
  const shown = (): Record<string, string[] | undefined> =>
    Object.fromEntries(api.list(nodes).map((node) => [node.metadata.name, node.spec.podCIDRs]));
  return { harness, api, metrics, controller, add, shown, start: () => harness.start(controller) };
}

t.test('each node gets its own range, and existing ranges count', async (t) => {
  const { harness, api, add, shown, start, metrics } = setUp(t, ['10.0.0.0/21/24'], ['10.0.0.0/23', 'fd00::/112']);
  add('old', ['10.0.3.0/24']);
  add('foreign', ['192.168.0.0/24']);
  add('a');
  await start();
  add('b');
  await harness.settled();
  t.same(shown(), {
    old: ['10.0.3.0/24'],
    foreign: ['192.168.0.0/24'],
    a: ['10.0.2.0/24'],
    b: ['10.0.4.0/24'],
  });
  t.equal(api.get(nodes, 'b')?.spec.podCIDR, '10.0.4.0/24');
  add('chosen', ['10.0.5.0/24']);
  add('c');
  await harness.settled();
  t.same(shown()['c'], ['10.0.6.0/24']);
  t.same(api.takeWrites(), ['patch nodes a', 'patch nodes b', 'patch nodes c']);
  t.same(harness.events, []);
  api.remove(nodes, 'a');
  await harness.settled();
  const text = await metrics.metrics();
  for (const line of [
    'cidrs_allocations_total{clusterCIDR="10.0.0.0/21"} 7',
    'cidrs_releases_total{clusterCIDR="10.0.0.0/21"} 1',
    'usage_cidrs{clusterCIDR="10.0.0.0/21"} 0.75',
    'allocation_tries_per_request_count{clusterCIDR="10.0.0.0/21"} 3',
  ]) {
    t.match(text, `node_ipam_controller_cidrset_${line}`);
  }
});

t.test('dual-stack nodes get a range of each family', async (t) => {
  const { add, shown, start } = setUp(t, ['fd00::/62/64', '10.0.0.0/22/24'], ['10.0.0.0/24']);
  add('single', ['10.0.1.0/24']);
  add('a');
  add('b');
  await start();
  t.same(shown(), {
    single: ['10.0.1.0/24'],
    a: ['fd00::/64', '10.0.2.0/24'],
    b: ['fd00:0:0:1::/64', '10.0.3.0/24'],
  });
});

t.test('waiting nodes get freed ranges in order', async (t) => {
  const { harness, api, add, shown, start } = setUp(t);
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) add(name);
  await start();
  const unavailable = (name: string) => `Normal CIDRNotAvailable ${name}: Node ${name} status is now: CIDRNotAvailable`;
  t.same(harness.events, ['e', 'f', 'g'].map(unavailable));
  api.remove(nodes, 'e');
  api.remove(nodes, 'b');
  await harness.settled();
  t.same(shown()['f'], ['10.0.1.0/24']);
  t.equal(shown()['g'], undefined);
  api.remove(nodes, 'a');
  await harness.settled();
  t.same(shown()['g'], ['10.0.0.0/24']);
  t.equal(harness.events.length, 3);
});

t.test('failed writes are retried with the same range, and recorded', async (t) => {
  const { harness, api, add, shown, start } = setUp(t);
  add('a');
  let failures = 0;
  const heal = api.intercept((call) => {
    if (call.verb !== 'patch') return undefined;
    failures += 1;
    return failures % 2 === 0
      ? serverTimeout({ group: '', resource: 'nodes' }, 'patch', 0)
      : internalError(new Error('x'));
  });
  await start();
  for (let i = 0; i < 50 && failures < 6; i += 1) await harness.advance(1000);
  t.same(
    harness.events.slice(0, 2),
    Array(2).fill('Normal CIDRAssignmentFailed a: Node a status is now: CIDRAssignmentFailed'),
  );
  add('b');
  heal();
  for (let i = 0; i < 100 && shown()['a'] === undefined; i += 1) await harness.advance(1000);
  t.same(shown(), { a: ['10.0.0.0/24'], b: ['10.0.1.0/24'] });
});

t.test('a node keeps a range that another client assigned', async (t) => {
  const { harness, api, add, shown, start } = setUp(t);
  await start();
  const thaw = harness.freeze('nodes');
  add('a');
  add('b');
  const remove = api.intercept((call) => {
    if (call.verb !== 'patch' || call.name !== 'a') return undefined;
    remove();
    api.change<Node>(nodes, 'a', (node) => {
      node.spec = { podCIDR: '10.0.3.0/24', podCIDRs: ['10.0.3.0/24'] };
    });
    return undefined;
  });
  thaw();
  for (let i = 0; i < 20; i += 1) await harness.advance(1000);
  for (const name of ['c', 'd']) add(name);
  await harness.settled();
  const patch = api.calls.find(({ verb }) => verb === 'patch')?.body;
  t.type((patch as Node).metadata.uid, 'string', 'a late write does not change a new node with the name');
  const all = Object.values(shown()).map((cidrs) => cidrs?.join());
  t.same(shown()['a'], ['10.0.3.0/24']);
  t.same(all.sort(), ['10.0.0.0/24', '10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24'], 'no block is lost');
});

t.test('a lagging cache does not cause a double allocation', async (t) => {
  const { harness, api, add, shown, controller } = setUp(t);
  harness.informers.informer(nodes);
  await harness.start();
  add('old');
  await harness.settled();
  // The cache keeps showing the node without a range; the store has one.
  const thaw = harness.fail((call) => call.verb === 'watch', internalError(new Error('cut off')));
  api.dropWatches();
  api.change<Node>(nodes, 'old', (node) => {
    node.spec = { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] };
  });
  add('gone', ['10.0.1.0/24']);
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await harness.advance(1);
    await running;
  });
  await harness.settled();
  api.remove(nodes, 'gone');
  add('new');
  thaw();
  for (let i = 0; i < 30; i += 1) await harness.advance(1000);
  t.same(shown()['old'], ['10.0.0.0/24']);
  for (const name of ['x', 'y']) add(name);
  await harness.settled();
  const all = Object.values(shown()).map((cidrs) => cidrs?.join());
  t.same(all.sort(), ['10.0.0.0/24', '10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24'], 'no block is lost');
});
