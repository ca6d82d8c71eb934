/**
 * Many watches over few HTTP/2 connections: the memory of 10,000 idle watches, and whether 1,000 watches keep up with 1,000
 * events per second, each for one watch, and `--all` events for all.
 *
 * `node dist/test/bench/watchers.bench.js [--idle 10000] [--connections 100] [--watchers 1000] [--events 1000] [--all 20] [--seconds 10]`
 */
import { parseArgs } from 'node:util';
import { realClock } from '#apimachinery/clock.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { KeyValue } from '#storage/store.js';
import { MultiplexedWatches } from '#test/bench/access/multiplexed.js';
import { ask, podBody, podName, podPath, podsPath, prepare } from '#test/bench/access/pods.js';
import { apiPeer, type RunningServer } from '#test/bench/access/servers.js';
import { cpuMs, figure, machineLine, megabytes, residentBytes } from '#test/bench/report.js';

const { values } = parseArgs({
  options: {
    idle: { type: 'string', default: '10000' },
    connections: { type: 'string', default: '100' },
    watchers: { type: 'string', default: '1000' },
    events: { type: 'string', default: '1000' },
    /** Events per second of an object that all clients watch. */
    all: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '10' },
    /** Options of `node` for the server, such as `--node=--cpu-prof`. */
    node: { type: 'string', multiple: true, default: [] },
  },
});
const idleCount = Number(values.idle);
const connections = Number(values.connections);
const count = Number(values.watchers);
const perSecond = Number(values.events);
const forAll = Number(values.all);
const seconds = Number(values.seconds);
const settleMs = 15_000;
const tickMs = 10;
/** The maximum backlog at the last write of a server that keeps up. */
const behindMs = 1000;

async function idle(server: RunningServer): Promise<void> {
  await realClock.sleep(settleMs);
  const before = residentBytes(server.pid);
  const watches = new MultiplexedWatches(server);
  const path = '/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0';
  const each = Math.ceil(idleCount / connections);
  for (let i = 0; i < connections; i++) await watches.open(Array.from({ length: each }, () => path));
  await realClock.sleep(settleMs);
  const after = residentBytes(server.pid);
  figure(`server before ${idleCount} idle watches`, megabytes(before));
  figure(`  with them, over ${connections} connections`, megabytes(after));
  figure('  more than before', megabytes(after - before), '150 MB');
  figure('  each of them', `${((after - before) / idleCount / 1000).toFixed(1)} kB`, '15 kB');
  const cpu = cpuMs(server.pid);
  await realClock.sleep(settleMs);
  figure('  CPU of the server', `${(((cpuMs(server.pid) - cpu) / settleMs) * 100).toFixed(2)} %`);
  if (watches.events > 0) throw new Error('the watches are not idle');
  watches.close();
}

async function busy(server: RunningServer): Promise<void> {
  for (let n = 0; n < count; n++) await ask(server, 'POST', podsPath, { body: podBody(podName(n), n) });
  const watches = new MultiplexedWatches(server);
  const { body } = await ask(server, 'GET', `${podsPath}?limit=1`);
  const { metadata } = JSON.parse(body.toString()) as { metadata: { resourceVersion: string } };
  const from = `watch=true&resourceVersion=${metadata.resourceVersion}`;
  const each = Math.ceil(count / connections);
  for (let at = 0; at < count; at += each) {
    // Its own pod, as a node agent watches, and the common object.
    const paths = Array.from(
      { length: Math.min(each, count - at) },
      (_, i) => `${podsPath}?${from}&fieldSelector=metadata.name%3D${podName(at + i)}`,
    );
    await watches.open(paths);
  }
  const shared = new MultiplexedWatches(server);
  const common = `/api/v1/namespaces/default/serviceaccounts?${from}&fieldSelector=metadata.name%3Dweb`;
  for (let at = 0; at < count; at += each) {
    await shared.open(Array.from({ length: Math.min(each, count - at) }, () => common));
  }
  await ask(server, 'GET', podPath(0));
  const store = new EtcdStore({ endpoints: [server.etcd.endpoint], clock: realClock, random: Math.random });
  const own = await objects(store, '/registry/pods/default/');
  const [one] = await objects(store, '/registry/serviceaccounts/default/web');
  const cpu = cpuMs(server.pid);
  const started = realClock.monotonic();
  let written = 0;
  let writtenForAll = 0;
  const writing: Promise<void>[] = [];
  for (let nowMs = 0; nowMs < seconds * 1000; nowMs = realClock.monotonic() - started) {
    const due = Math.floor((nowMs / 1000) * (perSecond - forAll));
    for (; written < due; written++) writing.push(touch(store, own[written % count]));
    if (writtenForAll < Math.floor((nowMs / 1000) * forAll)) {
      await touch(store, one);
      writtenForAll++;
    }
    await realClock.sleep(tickMs);
  }
  await Promise.all(writing);
  const writtenMs = realClock.monotonic() - started;
  while (watches.events < written || shared.events < writtenForAll * count) await realClock.sleep(1);
  const deliveredMs = realClock.monotonic() - started;
  const used = cpuMs(server.pid) - cpu;
  const deliveries = watches.events + shared.events;
  figure('events written in a second', ((written + writtenForAll) / (writtenMs / 1000)).toFixed(0));
  figure('  delivered in a second', (deliveries / (deliveredMs / 1000)).toFixed(0));
  figure('  the last one behind the last write', `${(deliveredMs - writtenMs).toFixed(0)} ms`, `${behindMs} ms`);
  figure('  CPU of the server for each delivered', `${((used / deliveries) * 1000).toFixed(1)} µs`);
  figure('  server', `${((used / deliveredMs) * 100).toFixed(0)} % of a core`);
  figure('  memory', megabytes(residentBytes(server.pid)));
  watches.close();
  shared.close();
  await store.close();
}

async function objects(store: EtcdStore, prefix: string): Promise<KeyValue[]> {
  return (await store.range({ start: prefix, end: prefixEnd(prefix) })).kvs.map((kv) => ({ ...kv }));
}

/** Rewrites an object's bytes directly in etcd. */
async function touch(store: EtcdStore, object: KeyValue | undefined): Promise<void> {
  if (object === undefined) throw new Error('there is nothing to write');
  const result = await store.update(object.key, object.value, object.modRevision);
  if (!result.ok) throw new Error(`${object.key} was changed by another writer`);
  Object.assign(object, { modRevision: result.revision });
}

process.stdout.write(`${machineLine()}\n`);
const peer = await apiPeer(undefined, values.node);
const { server } = await peer.start();
try {
  await prepare(server);
  if (idleCount > 0) await idle(server);
  if (count > 0) await busy(server);
} finally {
  await server.stop();
  await peer.destroy();
}
