/**
 * Measures pods per second of the scheduler with the real API server and etcd in separate processes, and for comparison
 * bindings per second without decisions. Arguments: --nodes 5000 --pods 10000 --only plain,spread…
 * --peer PATH (or PEER=PATH) runs another scheduler's program on the same rows, on the same API server.
 * All pods exist when a scheduler starts; the time runs from the first binding seen by a watch to the last.
 */
import { existsSync, readFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import type { Store } from '#storage/store.js';
import { seed } from '#test/bench/controllers/objects.js';
import { cpuMs, figure, machineLine, megabytes, residentBytes } from '#test/bench/report.js';
import { bindAll, revisionNow, type Size, seedRow, untilBound } from '#test/bench/scheduler/cluster.js';
import { type Row, rowsOf } from '#test/bench/scheduler/rows.js';
import { freePort } from '#test/free-port.js';
import { type Command, own, type RunningApiServer, startApiServer } from '#test/integration/peers/implementations.js';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '5000' },
    pods: { type: 'string', default: '10000' },
    only: { type: 'string', default: '' },
    peer: { type: 'string', default: process.env['PEER'] ?? '' },
    profile: { type: 'string', default: '' },
  },
});
const bindingsAtOnce = 64;
const load = () => readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 2).join(' ');

/** The metrics page, without verifying the certificate. */
async function metricsText(port: number): Promise<string> {
  const agent = new Agent({ rejectUnauthorized: false });
  return new Promise((resolve, reject) => {
    get({ agent, host: '127.0.0.1', port, path: '/metrics' }, (answer) => void text(answer).then(resolve, reject)).on(
      'error',
      reject,
    );
  });
}

/** Upper bound in ms of the bucket with the 99th percentile of successful attempts. */
function attemptP99Ms(metrics: string): number {
  const series = /^scheduler_scheduling_attempt_duration_seconds_bucket\{(.*)\} (\S+)$/gm;
  const buckets = [...metrics.matchAll(series)]
    .filter(([, labels = '']) => labels.includes('result="scheduled"'))
    .map(([, labels = '', count]) => ({
      le: Number(/\ble="([^"]+)"/.exec(labels)?.[1]?.replace('+Inf', 'Infinity')),
      count: Number(count),
    }))
    .sort((a, b) => a.le - b.le);
  const rank = 0.99 * (buckets.at(-1)?.count ?? 0);
  return 1000 * (buckets.find(({ count }) => count >= rank)?.le ?? Number.NaN);
}

/** The command, with a profiler if requested. */
function profiled([program, ...args]: Command): Command {
  const { profile } = values;
  return profile === '' ? [program, ...args] : [program, '--cpu-prof', `--cpu-prof-dir=${profile}`, ...args];
}

/** Ends a process gracefully, since it writes its profile at the end. */
async function terminated(pid: number): Promise<void> {
  process.kill(pid, 'SIGTERM');
  while (existsSync(`/proc/${pid}/exe`)) await clock.sleep(100);
}

/** A new cluster for each run, so that leftovers do not slow the next. */
async function withCluster(
  fill: (client: Client, store: Store) => Promise<void>,
  run: (server: RunningApiServer) => Promise<void>,
): Promise<void> {
  const teardowns: (() => unknown)[] = [];
  const lifetime = { teardown: (end: () => unknown) => void teardowns.unshift(end) };
  try {
    const server = await startApiServer(lifetime, profiled(own('orch-apiserver')));
    const store = new EtcdStore({ endpoints: [server.etcd], clock, random: Math.random });
    lifetime.teardown(() => store.close());
    await fill(server.client, store);
    await run(server);
    if (values.profile !== '') await terminated(server.pid);
  } finally {
    for (const end of teardowns) await end();
  }
}

const perThousand = (ms: number, count: number) => `${(ms / count).toFixed(2)} s`;

async function measureScheduler(name: string, command: Command, row: Row, size: Size): Promise<void> {
  const fill = (client: Client, store: Store) => seedRow(client, store, row, size);
  await withCluster(fill, async (server) => {
    const watched = server.connect(dialect.protobufMediaType);
    const revision = await revisionNow(watched);
    const port = await freePort();
    const { pid = 0 } = server.startScheduler(command, port, '--leader-elect=false');
    // Startup must not count in the cost of bindings.
    const before = { scheduler: 0, server: 0 };
    const bound = untilBound(watched, revision, size.podCount, () => {
      before.scheduler = cpuMs(pid);
      before.server = cpuMs(server.pid);
    });
    const { firstMs, lastMs } = await bound.catch((error: unknown) => {
      process.stderr.write(server.log().slice(-3000));
      throw error;
    });
    const [scheduler, apiServer] = [cpuMs(pid) - before.scheduler, cpuMs(server.pid) - before.server];
    figure(`  ${name}: pods bound`, `${Math.round((1000 * size.podCount) / (lastMs - firstMs))}/s`);
    figure(
      '    from the decision to the binding, 99 % within',
      `${attemptP99Ms(await metricsText(port)).toFixed(0)} ms`,
    );
    figure('    CPU time of 1,000 pods: the scheduler', perThousand(scheduler, size.podCount));
    figure('    and the API server', perThousand(apiServer, size.podCount));
    figure('    resident memory of the scheduler', megabytes(residentBytes(pid)));
    if (values.profile !== '') await terminated(pid);
  });
}

async function measureBindings(row: Row, size: Size): Promise<void> {
  const fill = (client: Client, store: Store) => seedRow(client, store, row, size);
  await withCluster(fill, async (server) => {
    const binder = server.connect(dialect.protobufMediaType);
    const watcher = server.connect(dialect.protobufMediaType);
    let before = 0;
    const bound = untilBound(watcher, await revisionNow(watcher), size.podCount, () => {
      before = cpuMs(server.pid);
    });
    const [{ firstMs, lastMs }] = await Promise.all([bound, bindAll(binder, size, bindingsAtOnce)]);
    figure('  bindings alone', `${Math.round((1000 * size.podCount) / (lastMs - firstMs))}/s`);
    figure('    CPU time of 1,000: the API server', perThousand(cpuMs(server.pid) - before, size.podCount));
  });
}

/** The scheduler's memory when all pods run and none is pending. */
async function measureMemory(size: Pick<Size, 'nodeCount' | 'podCount'>): Promise<void> {
  await withCluster(
    (client, store) => seed(client, store, size),
    async (server) => {
      const port = await freePort();
      const { pid = 0 } = server.startScheduler(own('orch-scheduler'), port, '--leader-elect=false');
      const cachedPods = async () => {
        const shown = await metricsText(port).catch(() => '');
        return Number(/cache_size\{type="pods"\} (\d+)/.exec(shown)?.[1] ?? 0);
      };
      for (const until = clock.monotonic() + 300_000; (await cachedPods()) < size.podCount; await clock.sleep(500)) {
        if (clock.monotonic() > until) throw new Error(`the scheduler did not see all pods: ${server.log()}`);
      }
      figure(
        `${size.nodeCount} nodes, ${size.podCount} pods: resident memory`,
        megabytes(residentBytes(pid)),
        '700 MB',
      );
      await clock.sleep(30_000);
      figure('  half a minute later', megabytes(residentBytes(pid)), '700 MB');
      figure('  CPU time until then', `${(cpuMs(pid) / 1000).toFixed(1)} s`);
    },
  );
}

const podCount = Number(values.pods);
const nodeCount = Number(values.nodes);
const plainSize: Size = { nodeCount, podCount, unschedulable: 0 };
const rows = rowsOf(dialect);
const all = new Map<string, { row: Row; size: Size }>();
for (const key of ['plain', 'anti', 'preferred', 'spread', 'affinity', 'taints', 'preemption']) {
  const row = rows[key];
  if (row === undefined) throw new Error(`no row ${key}`);
  // Preemption is inherently slower, and needs four pods per node.
  all.set(key, { row, size: key === 'preemption' ? { ...plainSize, podCount: podCount / 10 } : plainSize });
}
const { row: plain } = all.get('plain') ?? {};
if (plain !== undefined) {
  const unschedulable = { ...plain, name: 'plain, 1,000 unschedulable pods waiting' };
  all.set('hopeless', { row: unschedulable, size: { ...plainSize, unschedulable: 1000 } });
  all.set('large', { row: { ...plain, name: 'plain' }, size: { ...plainSize, nodeCount: 3 * nodeCount } });
}

const schedulers: [string, Command][] = [['orch', profiled(own('orch-scheduler'))]];
if (values.peer !== '') schedulers.push(['peer', [values.peer]]);
process.stdout.write(`${machineLine()}; load ${load()}\n`);
const only = values.only === '' ? [...all.keys(), 'memory'] : values.only.split(',');
for (const key of only) {
  if (key === 'memory') {
    await measureMemory({ nodeCount, podCount: 5 * podCount });
    continue;
  }
  const entry = all.get(key);
  if (entry === undefined) throw new Error(`no row ${key}; there are ${[...all.keys()].join(', ')}`);
  const { row, size } = entry;
  process.stdout.write(`${row.name}; ${size.nodeCount} nodes, ${size.podCount} pods\n`);
  if (key === 'plain' || key === 'large') await measureBindings(row, size);
  for (const [name, command] of schedulers) await measureScheduler(name, command, row, size);
}
process.stdout.write(`load ${load()}\n`);
