import { Gauge, Histogram } from 'prom-client';
import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { counter, exponentialBuckets, gauge } from '#daemon/metrics/metric.js';
import { createRegistry, labelAllowList, metricsText, metricsView } from '#daemon/metrics/registry.js';
import type { MetricsValues } from '#daemon/options/groups/metrics.js';

t.test('build, process and runtime metrics', async (t) => {
  const registry = createRegistry({ dialect: orchDialect, process });
  const text = await metricsText(registry);
  t.match(text, /^orch_build_info\{.*,git_version="v1.24.0",.*major="1",minor="24",platform="\w+\/\w+"\} 1$/m);
  t.match(text, /^process_cpu_seconds_total \d/m);
  t.match(text, /^process_resident_memory_bytes \d{7,}/m);
  t.match(text, /^process_open_fds \d/m);
  t.match(text, /^process_virtual_memory_bytes \d{8,}/m);
  t.match(text, /^process_virtual_memory_max_bytes \d/m);
  t.match(text, /^nodejs_eventloop_utilization \d/m);
  const first = Number(/^process_cpu_seconds_total (\S+)/m.exec(text)?.[1]);
  const second = Number(/^process_cpu_seconds_total (\S+)/m.exec(await metricsText(registry))?.[1]);
  t.ok(second >= first && second < first + 60, 'a counter, not a sum of readings');
});

t.test('disabled metrics are omitted, and registries are separate', async (t) => {
  const registry = createRegistry({ dialect: orchDialect });
  gauge(registry, { name: 'a', help: 'A' }).set(1);
  counter(registry, { name: 'b', help: 'B' }).inc();
  const text = await metricsText(registry, { disabled: new Set(['a']) });
  t.notMatch(text, /^a /m);
  t.match(text, /^b 1$/m);
  t.notMatch(await metricsText(createRegistry({ dialect: orchDialect })), /^b /m);
});

t.test('a metric is created once per registry', async (t) => {
  const registry = createRegistry({ dialect: orchDialect });
  const first = gauge(registry, { name: 'a', help: 'A' });
  t.equal(gauge(registry, { name: 'a', help: 'A' }), first);
  t.ok(first instanceof Gauge);
  t.throws(() => counter(registry, { name: 'a', help: 'A' }), /already been registered/);
  t.same(exponentialBuckets(0.001, 2, 4), [0.001, 0.002, 0.004, 0.008]);
});

t.test('label values outside the list are merged', async (t) => {
  const registry = createRegistry({ dialect: orchDialect });
  const requests = counter(registry, { name: 'requests_total', help: 'Say "hi"\nnow', labelNames: ['code', 'host'] });
  requests.inc({ code: '200', host: 'a' }, 1);
  requests.inc({ code: '500', host: 'a' }, 2);
  requests.inc({ code: '503', host: 'a' }, 3);
  requests.inc({ code: '503', host: 'b"\\' }, 4);
  const seconds = new Histogram({ name: 's', help: 'S', labelNames: ['verb'], buckets: [1], registers: [registry] });
  seconds.observe({ verb: 'GET' }, 0.5);
  seconds.observe({ verb: 'PUT' }, 5);
  const labels = labelAllowList({ 'requests_total,code': '200,404', 's,verb': 'POST', 'none,x': 'y' });
  const text = await metricsText(registry, { labels });
  t.match(text, '# HELP requests_total Say "hi"\\nnow\n# TYPE requests_total counter\n');
  t.match(text, 'requests_total{code="200",host="a"} 1\n');
  t.match(text, 'requests_total{code="unexpected",host="a"} 5\n');
  t.match(text, 'requests_total{code="unexpected",host="b\\"\\\\"} 4\n');
  t.match(text, 's_bucket{le="1",verb="unexpected"} 1\ns_bucket{le="+Inf",verb="unexpected"} 2\n');
  t.match(text, 's_count{verb="unexpected"} 2');
  t.match(text, 'orch_build_info{');
});

t.test('hidden metrics are shown on request, but never if disabled', async (t) => {
  const registry = createRegistry({ dialect: orchDialect });
  const name = 'scheduler_e2e_scheduling_duration_seconds';
  gauge(registry, { name, help: 'Old' }).set(1);
  const text = async (argv: Partial<MetricsValues>) => metricsText(registry, metricsView(argv));
  t.notMatch(await text({}), name);
  t.match(await text({ 'show-hidden-metrics-for-version': '1.23' }), `${name} 1`);
  t.notMatch(await text({ 'show-hidden-metrics-for-version': '1.23', 'disabled-metrics': [name] }), name);
  t.match(await text({}), /orch_build_info/);
});
