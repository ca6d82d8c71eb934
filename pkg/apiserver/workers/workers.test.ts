import { Counter, Gauge, Registry } from 'prom-client';
import t from 'tap';
import { aggregate, metricsOf, withoutGauges } from '#apiserver/workers/merged-metrics.js';
import type { FromWorker } from '#apiserver/workers/messages.js';
import { WorkerSupervisor, workerCount } from '#apiserver/workers/supervisor.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { PlainHistogram } from '#daemon/metrics/plain-series.js';
import { metricsText } from '#daemon/metrics/registry.js';

t.test('the number of workers depends on the cores', async (t) => {
  const cases: [option: number, cores: number, count: number][] = [
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
  for (const [option, cores, count] of cases) t.equal(workerCount(option, cores), count, `${option} of ${cores}`);
});

t.test('a worker that hangs before its first heartbeat is replaced', async (t) => {
  const clock = new VirtualClock();
  const metrics = new Registry();
  const starts: number[] = [];
  const beating = new Set<(message: FromWorker) => void>();
  const supervisor = new WorkerSupervisor({
    ...{ name: 'test', count: 2, shutdownMs: 1000, clock, log, metrics, verbosity: { level: 0 } },
    spawn({ index }) {
      starts.push(index);
      const isSound = starts.length !== 2;
      let exit: (code: number | null) => void = () => undefined;
      let tell: (message: FromWorker) => void = () => undefined;
      return {
        pid: starts.length,
        send: ({ type }) => type === 'stop' && exit(0),
        onMessage(listener) {
          tell = listener;
          if (!isSound) return;
          beating.add(tell);
          queueMicrotask(() => tell({ type: 'serving' }));
        },
        onExit(listener) {
          exit = (code) => {
            beating.delete(tell);
            listener(code);
          };
        },
        kill: () => exit(null),
      };
    },
  });
  const stop = new AbortController();
  const running = supervisor.start(stop.signal);
  await supervisor.ready();
  const pass = async (seconds: number) => {
    for (let half = 0; half < 2 * seconds; half += 1) {
      for (const tell of beating) tell({ type: 'beat' });
      await clock.advance(500);
    }
  };
  await pass(115);
  t.same(starts, [0, 1], 'a start may take its time');
  await pass(10);
  t.same(starts, [0, 1, 1], 'then another is started');
  t.match(await metricsText(metrics), /apiserver_worker_restarts_total\{reason="held"\} 1/);
  await pass(130);
  t.same(starts, [0, 1, 1], 'which serves');
  stop.abort();
  await running;
});

t.test('metrics of several processes are merged into one registry', async (t) => {
  const processes = [1, 2].map((n) => {
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
  const metrics = await Promise.all(processes.map(metricsOf));
  const ended = withoutGauges(metrics[0] ?? []);
  const text = await metricsText(aggregate(structuredClone([...metrics, ended])));
  t.match(text, 'requests_total{code="200"} 4\n', 'counters of an ended worker count, too');
  t.match(text, 'watchers 3\n', 'gauges of an ended worker do not count');
  t.match(text, 'orch_build_info 1\n');
  t.match(text, 'seconds_bucket{le="1",verb="GET"} 0\n');
  t.match(text, 'seconds_bucket{le="5",verb="GET"} 3\n');
  t.match(text, 'seconds_count{verb="GET"} 3\n');
  t.match(text, '# TYPE seconds histogram');
});
