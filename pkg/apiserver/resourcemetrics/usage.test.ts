import t from 'tap';
import { readingOf } from '#apiserver/resourcemetrics/metrics-text.js';
import { momentOf, nodeUsage, podUsage, quantitiesOf, type Usage, usageOf } from '#apiserver/resourcemetrics/usage.js';

const text = (cpu: number, ms: number, started = 100) => `# HELP container_cpu_usage_seconds_total of containers
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="a",namespace="shop",pod="web"} ${cpu} ${ms}
container_cpu_usage_seconds_total{container="b",namespace="shop",pod="web"} ${cpu * 2} ${ms}
container_memory_working_set_bytes{container="a",namespace="shop",pod="web"} 1.048576e+06 ${ms}
container_memory_working_set_bytes{container="b",namespace="shop",pod="web"} 2048 ${ms}
container_start_time_seconds{container="a",namespace="shop",pod="web"} ${started}
container_start_time_seconds{container="b",namespace="shop",pod="web"} ${started} ${ms}
node_cpu_usage_seconds_total ${cpu * 10} ${ms}
node_memory_working_set_bytes 4096 ${ms}
pod_cpu_usage_seconds_total{namespace="shop",pod="web"} 7 ${ms}
scrape_error 0
`;

const last = readingOf(text(13, 1_000_000));
const previous = readingOf(text(10, 985_000));

t.test('a reading has the usage of the node and of its containers', async (t) => {
  t.same(last.node, { timestampMs: 1_000_000, cpuSeconds: 130, memoryBytes: 4096, startedMs: 0 });
  t.same(last.pods.get('shop/web')?.get('a'), {
    timestampMs: 1_000_000,
    cpuSeconds: 13,
    memoryBytes: 1_048_576,
    startedMs: 100_000,
  });
  t.same([...last.pods.keys()], ['shop/web']);
});

t.test('invalid values and malformed lines are ignored', async (t) => {
  const cpu = 'container_cpu_usage_seconds_total';
  for (const line of [
    `${cpu}{container="x",namespace="n",pod="p"} NaN 1000`,
    `${cpu}{container="x",namespace="n",pod="p"} -1 1000`,
    `${cpu}{container="x",namespace="n",pod="p"} 1e308 1000`,
    `${cpu}{container="x",namespace="n",pod="p"} 1`,
    `${cpu}{container="x",namespace="n",pod="p"} 1 99999999999999999999`,
    `${cpu}{container="",namespace="n",pod="p"} 1 1000`,
    `${cpu}{namespace="n",pod="p"} 1 1000`,
    `${cpu}{`,
    'node_cpu_usage_seconds_total',
    '}{',
  ]) {
    t.same([readingOf(line).node, readingOf(line).pods.size], [undefined, 0], line);
  }
  const odd = readingOf(text(1, 1000).replaceAll('pod="web"', 'pod="a\\"b\\\\c,pod=d"'));
  t.same([...odd.pods.keys()], ['shop/a"b\\c,pod=d'], 'names may contain escaped characters');
});

t.test('a line of two megabytes takes no longer than its length', async (t) => {
  const cpu = 'container_cpu_usage_seconds_total';
  const size = 2 * 1024 * 1024;
  // A search that began at each letter would take an hour.
  for (const labels of [
    'a'.repeat(size),
    'a='.repeat(size / 2),
    'a="'.repeat(size / 3),
    'a="\\'.repeat(size / 4),
    '} a'.repeat(size / 3),
  ])
    t.equal(readingOf(`${cpu}{${labels}} 1 1000`).pods.size, 0, labels.slice(0, 10));
});

t.test('CPU usage is the rate between two measurements', async (t) => {
  const usage = nodeUsage({ last, previous }) as Usage;
  t.same(usage, { timestampMs: 1_000_000, windowMs: 15_000, nanoCores: 2e9, memoryBytes: 4096 });
  t.same(quantitiesOf(usage), { cpu: '2', memory: '4Ki' });
  t.same(momentOf(usage), { timestamp: '1970-01-01T00:16:40Z', window: '15s' });
  const containers = podUsage({ last, previous }, 'shop/web');
  t.same(
    [...(containers ?? [])].map(([name, each]) => [name, quantitiesOf(each)]),
    [
      ['a', { cpu: '200m', memory: '1Mi' }],
      ['b', { cpu: '400m', memory: '2Ki' }],
    ],
  );
  t.equal(podUsage({ last, previous }, 'shop/other'), undefined);
});

t.test('a single measurement gives no usage', async (t) => {
  t.equal(nodeUsage({ last }), undefined);
  t.equal(podUsage({ last }, 'shop/web'), undefined);
  t.equal(nodeUsage({ last, previous: last }), undefined, 'two measurements at the same time give none either');
});

t.test('the window of a restarted container begins at its start', async (t) => {
  const point = (cpuSeconds: number, timestampMs: number, startedMs: number) => ({
    ...{ cpuSeconds, timestampMs, startedMs },
    memoryBytes: 1,
  });
  const before = point(100, 85_000, 1000);
  t.same(usageOf(point(3, 100_000, 86_000), before), {
    ...{ timestampMs: 100_000, windowMs: 14_000, memoryBytes: 1 },
    nanoCores: Math.round((3 / 14_000) * 1e12),
  });
  t.equal(usageOf(point(3, 100_000, 95_000), before), undefined, 'too young for a meaningful usage');
  t.match(usageOf(point(2, 100_000, 80_000), undefined), { nanoCores: 1e8 }, 'young, and never measured before');
  t.equal(usageOf(point(2, 100_000, 1000), undefined), undefined, 'old, and never measured before');
  t.equal(usageOf(point(2, 100_000, 1000), before), undefined, 'the counter decreased');
  const partly = { last: { ...last, pods: new Map([['n/p', new Map([['a', point(3, 1e6, 1000)]])]]) }, previous };
  t.equal(podUsage(partly, 'n/p'), undefined);
});
