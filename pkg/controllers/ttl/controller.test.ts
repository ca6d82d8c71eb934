import t from 'tap';
import { nodes } from '#api/core/v1/resources.gen.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { TTLController } from '#controllers/ttl/controller.js';

t.test('nodes say how long objects may be kept, by the size of the cluster', async (t) => {
  const harness = new Harness(t, [nodes]);
  const { api } = harness;
  const name = harness.dialect.annotations.nodeTTL;
  const add = (i: number) => api.seed(nodes, { metadata: { name: `n${i}` }, spec: {} });
  const ttls = () => new Set(api.list(nodes).map(({ metadata }) => metadata.annotations?.[name]));
  const touch = () => {
    for (const { metadata } of api.list(nodes)) {
      api.change(nodes, metadata.name ?? '', (node) => {
        node.metadata.labels = { touched: String(Number(node.metadata.labels?.['touched'] ?? 0) + 1) };
      });
    }
  };
  for (let i = 0; i < 100; i += 1) add(i);
  await harness.start(new TTLController(harness.context));
  t.same([...ttls()], ['0']);
  api.takeWrites();
  add(100);
  await harness.settled();
  t.equal(api.get(nodes, 'n100')?.metadata.annotations?.[name], '15');
  t.same(api.takeWrites(), ['patch nodes n100'], 'the others at their next update');
  touch();
  await harness.settled();
  t.same([...ttls()], ['15']);
  for (let i = 0; i < 11; i += 1) api.remove(nodes, `n${i}`);
  touch();
  await harness.settled();
  t.same([...ttls()], ['15'], 'not yet at 90 nodes');
  api.remove(nodes, 'n11');
  await harness.settled();
  touch();
  await harness.settled();
  t.same([...ttls()], ['0']);
});

t.test('a node that goes meanwhile is no failure', async (t) => {
  const harness = new Harness(t, [nodes]);
  harness.api.seed(nodes, { metadata: { name: 'a' }, spec: {} });
  harness.api.intercept((call) => {
    if (call.verb === 'patch' && harness.api.get(nodes, 'a') !== undefined) harness.api.remove(nodes, 'a');
    return undefined;
  });
  await harness.start(new TTLController(harness.context));
  await harness.advance(10_000);
  t.equal(harness.api.takeWrites().length, 1);
});
