import t from 'tap';
import { nodes } from '#api/core/v1/resources.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { nextStep, TTLController, ttlPatch, ttlSecondsOf } from '#controllers/ttl/controller.js';

t.test('the annotation of nodes follows the cluster size', async (t) => {
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
  t.same(api.takeWrites(), ['patch nodes n100'], 'other nodes at their next update');
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

t.test('a deleted node is not a failure', async (t) => {
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

t.test('the time grows with the cluster, and shrinks with hysteresis', (t) => {
  const rows: [before: number, nodes: number, ttlSeconds: number][] = [
    [0, 0, 0],
    [0, 100, 0],
    [0, 101, 15],
    [0, 500, 15],
    [0, 501, 30],
    [0, 1001, 60],
    [0, 2001, 300],
    [0, 10_001, 600],
    [0, 1_000_000, 600],
    [1, 90, 15],
    [1, 89, 0],
    [2, 450, 30],
    [2, 449, 15],
    [3, 900, 60],
    [3, 899, 30],
    [4, 1800, 300],
    [4, 1799, 60],
    [5, 9000, 600],
    [5, 8999, 300],
    [5, 0, 0],
  ];
  for (const [before, nodes, want] of rows) t.equal(ttlSecondsOf(nextStep(before, nodes)), want, `${before}: ${nodes}`);
  t.end();
});

t.test('an unchanged annotation is not written', (t) => {
  const name = orchDialect.annotations.nodeTTL;
  const rows: [annotation: string | undefined, changes: boolean][] = [
    [undefined, true],
    ['', true],
    ['0', true],
    ['15s', true],
    ['15', false],
    ['+15', false],
  ];
  for (const [annotation, changes] of rows) {
    const annotations = annotation === undefined ? undefined : { [name]: annotation };
    const patch = ttlPatch({ metadata: { name: 'a', annotations: annotations ?? {} }, spec: {} }, 1, orchDialect);
    t.same(patch, changes ? { metadata: { annotations: { [name]: '15' } } } : undefined, String(annotation));
  }
  t.end();
});
