import { Counter, Gauge, Registry } from 'prom-client';
import t from 'tap';
import { ControlBlock } from '#apiserver/workers/control-block.js';
import { workerCount } from '#apiserver/workers/count.js';
import { aggregate, metricsOf, remaining } from '#apiserver/workers/metrics.js';
import { PlainHistogram } from '#daemon/metrics/plain-series.js';
import { metricsText } from '#daemon/metrics/registry.js';

t.test('as many workers as suit the machine', async (t) => {
  const cases: [asked: number, cores: number, count: number][] = [
    [0, 1, 1],
    [0, 2, 1],
    [0, 3, 1],
    [0, 4, 2],
    [0, 9, 4],
    [0, 16, 8],
    [0, 64, 8],
    [1, 64, 1],
    [5, 2, 5],
  ];
  for (const [asked, cores, count] of cases) t.equal(workerCount(asked, cores), count, `${asked} of ${cores}`);
});

t.test('what threads count together', async (t) => {
  const one = new ControlBlock(3);
  const other = new ControlBlock(3, one.memory);
  one.count(0, 'readOnly', 1);
  other.count(2, 'readOnly', 1);
  other.count(2, 'connections', 1);
  t.equal(one.total('readOnly'), 2);
  t.equal(one.own(2, 'readOnly'), 1);
  one.clear(2);
  t.equal(other.total('readOnly'), 1, 'nothing is left of one that is gone');
  t.equal(other.total('connections'), 0);
  const before = one.beats(1);
  other.beat(1);
  t.not(one.beats(1), before);
  t.equal(one.beats(0), 0);
  one.tell('bootstrapped');
  t.same([other.bootstrapped, other.stopping], [true, false]);
  // It has more than another that serves, and pauses; the other may be held, so it does not wait for long.
  for (const worker of [0, 1]) one.setServing(worker, true);
  for (let i = 0; i < 5; i++) one.count(0, 'connections', 1);
  one.letOthersAccept(0);
});

t.test('metrics of several threads are those of one server', async (t) => {
  const threads = [1, 2].map((n) => {
    const registry = new Registry();
    new Counter({ name: 'requests_total', help: 'Requests.', labelNames: ['code'], registers: [registry] }).inc(
      { code: '200' },
      n,
    );
    new Gauge({ name: 'watchers', help: 'Watches.', registers: [registry] }).set(n);
    new Gauge({ name: 'orch_build_info', help: 'Build.', registers: [registry] }).set(1);
    const histogram = new PlainHistogram(registry, {
      name: 'seconds',
      help: 'Time.',
      labelNames: ['verb'],
      buckets: [1, 5],
    });
    histogram.labels('GET').observe(2 * n);
    return registry;
  });
  const metrics = await Promise.all(threads.map(metricsOf));
  const gone = remaining(metrics[0] ?? []);
  const text = await metricsText(aggregate(structuredClone([...metrics, gone])));
  t.match(text, 'requests_total{code="200"} 4\n', 'also of one that is gone');
  t.match(text, 'watchers 3\n', 'but not what it had open');
  t.match(text, 'orch_build_info 1\n');
  t.match(text, 'seconds_bucket{le="1",verb="GET"} 0\n');
  t.match(text, 'seconds_bucket{le="5",verb="GET"} 3\n');
  t.match(text, 'seconds_count{verb="GET"} 3\n');
  t.match(text, '# TYPE seconds histogram');
});
