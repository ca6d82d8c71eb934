import { Registry } from 'prom-client';
import t from 'tap';
import { PlainSummary } from '#daemon/metrics/plain-series.js';

const hourMs = 3_600_000;

t.test('quantiles are exact to their buckets, and old data expires', async (t) => {
  let nowMs = 0;
  const registry = new Registry();
  const summary = new PlainSummary(registry, {
    name: 'x_seconds_summary',
    help: 'x',
    labelNames: ['type'],
    quantiles: [0.5, 0.99],
    maxAgeMs: 5 * hourMs,
    clock: { monotonic: () => nowMs },
  });
  const series = summary.labels('admit');
  t.ok(Number.isNaN(series.quantile(0.5)), 'of nothing');
  for (let i = 1; i <= 1000; i++) series.observe(i / 1000);
  const near = (actual: number, expected: number, what: string) =>
    t.ok(Math.abs(actual / expected - 1) < 0.03, `${what}: ${actual}, not ${expected}`);
  near(series.quantile(0.5), 0.5, 'median');
  near(series.quantile(0.99), 0.99, '99th');
  series.observe(0);
  series.observe(1e9);
  t.equal(series.count, 1002);

  nowMs = 4.5 * hourMs;
  near(series.quantile(0.5), 0.5, 'hours later');
  for (let i = 0; i < 10; i++) series.observe(2);
  nowMs = 5.5 * hourMs;
  near(series.quantile(0.5), 2, 'the first are forgotten');
  nowMs = 50 * hourMs;
  t.ok(Number.isNaN(series.quantile(0.5)));
  t.equal(series.count, 1012, 'the count includes expired data');

  const text = await registry.metrics();
  t.match(text, '# TYPE x_seconds_summary summary');
  t.match(text, 'x_seconds_summary{quantile="0.5",type="admit"} Nan');
  t.match(text, 'x_seconds_summary_count{type="admit"} 1012');
});
