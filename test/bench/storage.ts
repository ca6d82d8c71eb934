/**
 * What the storage costs per operation in CPU of this process, next to the bare call to etcd.
 * Run: `node dist/test/bench/storage.js [objects]`
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Registry } from 'prom-client';
import { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { realClock } from '#apimachinery/clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { WatchCache } from '#storage/cache/watch-cache.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { encodeStored } from '#storage/layout.js';
import { createStorageMetrics } from '#storage/metrics.js';
import { prefixEnd } from '#storage/sorted-map.js';
import { startEtcd } from '#test/etcd.js';

const count = Number(process.argv[2] ?? 5000);
const concurrency = 16;
/** About as large as a pod without managed fields. */
const padding = 'x'.repeat(2300);

const stored = (i: number): Buffer =>
  encodeStored({
    kind: 'Thing',
    apiVersion: 'v1',
    metadata: { name: `thing-${i}`, labels: { a: `${i % 100}` } },
    padding,
  } as object);

const name = (i: number): string => `ns/thing-${String(i).padStart(6, '0')}`;

async function measure(what: string, times: number, operation: (i: number) => Promise<unknown>): Promise<void> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < times; i = next++) await operation(i);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, times) }, worker));
  const wallMs = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  const cpuUs = Math.round((user + system) / times);
  const rate = Math.round((times / wallMs) * 1000);
  process.stdout.write(`${what.padEnd(44)} ${String(cpuUs).padStart(8)} µs CPU each ${String(rate).padStart(8)}/s\n`);
}

async function main(): Promise<void> {
  const etcd = await startEtcd();
  const store = new EtcdStore({ endpoints: [etcd.endpoint], clock: realClock, random: Math.random });
  const cache = new WatchCache({
    store,
    prefix: '/registry/things/',
    resource: 'things',
    clock: realClock,
    turns: new TurnQueue({ clock: realClock, defer: setImmediate }),
    random: Math.random,
    log: silentLogger,
    metrics: createStorageMetrics(new Registry()),
  });
  const controller = new AbortController();
  const running = cache.start(controller.signal);
  try {
    await cache.waitReady();
    const latest = { kind: 'latest' } as const;
    await measure('raw create', count, (i) => store.create(`/registry/raw/${i}`, stored(i)));
    await measure('create', count, (i) => cache.create(name(i), stored(i)));
    const range = { start: `/registry/raw/0`, end: `/registry/raw/0\0` };
    await measure('raw quorum read', count, () => store.range(range));
    await measure('get, most recent', count, (i) => cache.get(name(i), latest));
    await measure('get, any', count * 20, (i) => cache.get(name(i % count), { kind: 'any' }));
    const raw = { start: '/registry/raw/', end: prefixEnd('/registry/raw/') };
    await measure(`raw range of ${count}`, 5, () => store.range(raw));
    await measure(`list of ${count}, most recent`, 100, () => cache.list({ scope: '', version: latest }));
    const match = (entry: { attributes<T>(make: () => T): T }) => entry.attributes(() => 'x') === 'y';
    await measure(`list of ${count} by selector`, 100, () => cache.list({ scope: '', version: latest, match }));
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    await measure(`self-check of ${count}`, 3, () => cache.selfCheck());
    delay.disable();
    process.stdout.write(`longest turn of the event loop meanwhile: ${Math.round(delay.max / 1e6)} ms\n`);
    global.gc?.();
    const { rss, heapUsed, external } = process.memoryUsage();
    const mb = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MB`;
    process.stdout.write(`memory: ${mb(rss)} resident, ${mb(heapUsed)} heap, ${mb(external)} buffers\n`);
  } finally {
    controller.abort();
    await running;
    await store.close();
    await etcd.stop();
  }
}

await main();
