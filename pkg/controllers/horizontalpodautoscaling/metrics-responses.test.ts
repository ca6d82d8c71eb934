/** Valid and malformed responses of metrics servers. */
import t from 'tap';
import { parseTime } from '#apimachinery/clock.js';
import {
  metricsByPodIn,
  onlyValueIn,
  podMetricsIn,
  sumOfValuesIn,
} from '#controllers/horizontalpodautoscaling/metrics-responses.js';

const timestamp = '2024-05-01T12:00:00Z';
const timestampMs = parseTime(timestamp);
const container = (name: string, usage: object) => ({ name, usage });
const podItem = (name: unknown, ...containers: unknown[]) => ({
  metadata: { name },
  timestamp,
  window: '1m30s',
  containers,
});

t.test('resource metrics are decoded per pod and container', async (t) => {
  const answer = {
    items: [
      podItem('a', container('x', { cpu: '100m', memory: '1Ki' }), container('y', { cpu: '1500u' })),
      podItem('b', container('x', { cpu: '1' }), container('y', {})),
      podItem('c'),
      podItem('d', container('x', { cpu: '2' }), container('x', { cpu: '7' })),
    ],
  };
  const of = (resource: string, name?: string) =>
    [...(podMetricsIn(answer, resource, name) ?? [])].map(([pod, { milli }]) => [pod, milli]);
  t.same(
    of('cpu'),
    [
      ['a', 102],
      ['d', 9000],
    ],
    'pods whose containers are all measured',
  );
  t.same(
    of('cpu', 'x'),
    [
      ['a', 100],
      ['b', 1000],
      ['d', 2000],
    ],
    'of one container',
  );
  t.same(of('memory', 'x'), [['a', 1_024_000]]);
  t.same(of('constructor'), []);
  t.same(podMetricsIn(answer, 'cpu', undefined)?.get('a'), { milli: 102, timestampMs, windowMs: 90_000 });
  t.equal(podMetricsIn({ items: null }, 'cpu', undefined), undefined);
  t.equal(podMetricsIn({}, 'cpu', undefined), undefined);
});

t.test('custom and external metrics are decoded', async (t) => {
  const item = { describedObject: { name: 'a' }, timestamp, value: '2500m' };
  const windowOf = (more: object) => metricsByPodIn({ items: [{ ...item, ...more }] })?.get('a')?.windowMs;
  t.equal(windowOf({}), 60_000);
  t.equal(windowOf({ windowSeconds: 15 }), 15_000, 'v1beta2');
  t.equal(windowOf({ window: 20 }), 20_000, 'v1beta1');
  t.same(metricsByPodIn({ items: [item] })?.get('a'), { milli: 2500, timestampMs, windowMs: 60_000 });
  t.equal(metricsByPodIn({ items: [] }), undefined);
  t.equal(onlyValueIn({ items: [item] }), 2500);
  t.equal(onlyValueIn({ items: [{ value: 3 }] }), 3000, 'a number is a quantity');
  t.equal(sumOfValuesIn({ items: [item, { value: '-1' }] }), 1500);
  t.equal(sumOfValuesIn({ items: [{ value: `9e60` }] }), 2 ** 63, 'limited to the range of quantities');
  t.equal(sumOfValuesIn({}), undefined);
});

/** All decoders reject these. */
const broken: readonly [string, unknown][] = [
  ['nothing', undefined],
  ['a text', 'metrics'],
  ['a list', []],
  ['items is a text', { items: 'a' }],
  ['an item is not an object', { items: [null] }],
  ['an empty item', { items: [{}] }],
];

for (const [name, answer] of broken) {
  t.test(`refused: ${name}`, async (t) => {
    for (const read of [metricsByPodIn, onlyValueIn, sumOfValuesIn]) t.throws(() => read(answer));
    if (name !== 'an empty item') t.throws(() => podMetricsIn(answer, 'cpu', undefined));
  });
}

t.test('refused: malformed items', async (t) => {
  const used = container('x', { cpu: '1' });
  for (const item of [
    podItem('', used),
    podItem(7, used),
    podItem('a', container('x', { cpu: 'much' })),
    podItem('a', container('x', { cpu: {} })),
    podItem('a', { name: 'x', usage: 'much' }),
    podItem('a', 'x'),
    { ...podItem('a', used), containers: {} },
    { ...podItem('a', used), timestamp: 'now' },
    { ...podItem('a', used), timestamp: undefined },
    { ...podItem('a', used), window: 'long' },
  ]) {
    t.throws(() => podMetricsIn({ items: [item] }, 'cpu', undefined), JSON.stringify(item));
  }
  for (const value of ['', 'x', '1'.repeat(300), null, {}, true]) t.throws(() => onlyValueIn({ items: [{ value }] }));
});
