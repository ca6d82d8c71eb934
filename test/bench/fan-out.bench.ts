/**
 * One thousand events per second to one thousand watchers: a million deliveries per second, on cores that the server, etcd
 * and the clients share. Measures whether the server keeps up, the latency of events, and the cost of each.
 *
 * `hack/bench.sh fan-out [--watchers 1000] [--connections 20] [--events 1000] [--seconds 10] [--bytes 200] [--workers 1,2]`
 *
 * `--events` may list several rates: `--events 10,100,1000`. All clients watch the config maps of one namespace; writes go
 * directly to etcd, so that their cost does not count.
 */
import { parseArgs } from 'node:util';
import { realClock } from '#apimachinery/clock.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { prefixEnd } from '#storage/sorted-map.js';
import type { KeyValue } from '#storage/store.js';
import { residentTreeBytes } from '#test/bench/access/memory.js';
import { ask, prepare } from '#test/bench/access/pods.js';
import { allServe, apiPeer, type RunningServer } from '#test/bench/access/servers.js';
import { RawWatches } from '#test/bench/fan-out/raw-watches.js';
import { treeCpuMs } from '#test/bench/machine/proc.js';
import { figure, machineLine, megabytes } from '#test/bench/report.js';

const { values } = parseArgs({
  options: {
    watchers: { type: 'string', default: '1000' },
    connections: { type: 'string', default: '20' },
    events: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '10' },
    /** The size of each object's data, without its metadata. */
    bytes: { type: 'string', default: '200' },
    workers: { type: 'string', default: '1,2' },
    /** Options of `node` for the server, such as `--node=--cpu-prof`. */
    node: { type: 'string', multiple: true, default: [] },
  },
});
const watchers = Number(values.watchers);
const connections = Number(values.connections);
const seconds = Number(values.seconds);
const objects = 100;
const mapsPath = '/api/v1/namespaces/default/configmaps';
/** The time of the write in this process's clock, with constant length, so that all events have the same length. */
const stamp = (ms: number): string => `at${ms.toFixed(3).padStart(18, '0')}`;
const stampPattern = /at\d{14}\.\d{3}/;
const tickMs = 2;
/** The maximum backlog at the last write of a server that keeps up. */
const behindMs = 1000;
/** The warm-up, in which the server's code is compiled. */
const warmUpMs = 3000;
const stallMs = 60_000;

const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;

class Latencies {
  #all: number[] = [];
  /** Latencies of the events on the watches that are parsed. */
  seen = 0;

  readonly add = (event: Buffer): void => {
    this.seen++;
    const written = stampPattern.exec(event.toString('latin1'))?.[0];
    if (written !== undefined) this.#all.push(realClock.monotonic() - Number(written.slice(2)));
  };

  take(): number[] {
    const sorted = this.#all.sort((a, b) => a - b);
    this.#all = [];
    return sorted;
  }
}

interface Stamped {
  readonly key: string;
  readonly value: Buffer;
  /** The offset of the time in the value. */
  readonly at: number;
  modRevision: bigint;
  /** A write is in flight. */
  busy: boolean;
}

/** Rewrites objects with the current time, at the given rate per second. */
class Writer {
  readonly #store: EtcdStore;
  readonly #objects: Stamped[];
  written = 0;

  private constructor(store: EtcdStore, kvs: readonly KeyValue[]) {
    this.#store = store;
    this.#objects = kvs.map(({ key, value, modRevision }) => {
      const at = stampPattern.exec(value.toString('latin1'))?.index;
      if (at === undefined) throw new Error(`${key} has no time in it`);
      return { key, value: Buffer.from(value), at, modRevision, busy: false };
    });
  }

  static async open(server: RunningServer): Promise<Writer> {
    const store = new EtcdStore({ endpoints: [server.etcd.endpoint], clock: realClock, random: Math.random });
    const prefix = '/registry/configmaps/default/fan-out-';
    const { kvs } = await store.range({ start: prefix, end: prefixEnd(prefix) });
    return new Writer(store, kvs);
  }

  async write(perSecond: number, forMs: number): Promise<void> {
    const started = realClock.monotonic();
    const writing = new Set<Promise<void>>();
    let begun = 0;
    for (let nowMs = 0; nowMs < forMs; nowMs = realClock.monotonic() - started) {
      const due = Math.floor((nowMs / 1000) * perSecond);
      for (const object of this.#objects) {
        if (begun >= due) break;
        if (object.busy) continue;
        begun++;
        const written = this.#touch(object).finally(() => writing.delete(written));
        writing.add(written);
      }
      await realClock.sleep(tickMs);
    }
    await Promise.all(writing);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #touch(object: Stamped): Promise<void> {
    object.busy = true;
    object.value.write(stamp(realClock.monotonic()), object.at, 'latin1');
    const result = await this.#store.update(object.key, object.value, object.modRevision);
    if (!result.ok) throw new Error(`${object.key} was changed by another writer`);
    object.modRevision = result.revision;
    object.busy = false;
    this.written++;
  }
}

/** Resolves when all watches have received the same bytes, and the parsed watches all events. */
async function caughtUp(watches: RawWatches, latencies: Latencies, events: number): Promise<void> {
  const started = realClock.monotonic();
  for (;;) {
    const bytes = watches.bytes();
    if (latencies.seen >= events && bytes.every((each) => each === bytes[0])) return;
    if (realClock.monotonic() - started > stallMs) {
      throw new Error(`events are missing: ${latencies.seen} of ${events}`);
    }
    await realClock.sleep(1);
  }
}

interface Rate {
  readonly server: RunningServer;
  readonly watches: RawWatches;
  readonly latencies: Latencies;
  readonly writer: Writer;
  readonly name: (text: string) => string;
}

async function measure(rate: Rate, perSecond: number, forMs: number, print: boolean): Promise<void> {
  const { server, watches, latencies, writer, name } = rate;
  const before = {
    written: writer.written,
    frames: watches.frames,
    bytes: watches.bytes()[0] ?? 0,
    server: treeCpuMs(server.pid),
    etcd: treeCpuMs(server.etcd.pid ?? 0),
    client: process.cpuUsage(),
    atMs: realClock.monotonic(),
  };
  await writer.write(perSecond, forMs);
  const writtenMs = realClock.monotonic();
  await caughtUp(watches, latencies, writer.written * connections);
  const deliveredMs = realClock.monotonic();
  const sorted = latencies.take();
  if (!print) return;
  const written = writer.written - before.written;
  const deliveries = written * watchers;
  const elapsedMs = deliveredMs - before.atMs;
  const server1 = treeCpuMs(server.pid) - before.server;
  const client = process.cpuUsage(before.client);
  const cores = (ms: number) => `${((ms / elapsedMs) * 100).toFixed(0)} % of a core`;
  const frames = watches.frames - before.frames;
  figure(
    name(`${perSecond} a second: events written`),
    `${(written / ((writtenMs - before.atMs) / 1000)).toFixed(0)}/s`,
  );
  figure(name('  delivered'), `${(deliveries / (elapsedMs / 1000)).toFixed(0)}/s`);
  figure(name('  bytes of an event'), ((((watches.bytes()[0] ?? 0) - before.bytes) / written) | 0).toString());
  figure(name('  events in a frame'), (deliveries / frames).toFixed(1));
  figure(name('  the last one behind the last write'), `${(deliveredMs - writtenMs).toFixed(0)} ms`, `${behindMs} ms`);
  for (const [text, part] of [
    ['p50', 0.5],
    ['p99', 0.99],
    ['at most', 1],
  ] as const) {
    figure(name(`  from before the write to the client, ${text}`), `${percentile(sorted, part).toFixed(1)} ms`);
  }
  figure(name('  CPU of the server for each delivered'), `${((server1 / deliveries) * 1000).toFixed(2)} µs`);
  figure(name('  server'), cores(server1));
  figure(name('  etcd'), cores(treeCpuMs(server.etcd.pid ?? 0) - before.etcd));
  figure(name('  clients'), cores((client.user + client.system) / 1000));
  figure(name('  memory of the server'), megabytes(residentTreeBytes(server.pid)));
}

async function one(workers: number): Promise<void> {
  const peer = await apiPeer(undefined, values.node, ['--workers', String(workers)]);
  try {
    const { server } = await peer.start();
    try {
      await allServe(server, workers);
      await prepare(server);
      for (let n = 0; n < objects; n++) {
        const data = { at: stamp(0), of: 'x'.repeat(Number(values.bytes)) };
        const metadata = { name: `fan-out-${String(n).padStart(3, '0')}` };
        await ask(server, 'POST', mapsPath, { body: JSON.stringify({ metadata, data }) });
      }
      const { body } = await ask(server, 'GET', `${mapsPath}?limit=1`);
      const { metadata } = JSON.parse(body.toString()) as { metadata: { resourceVersion: string } };
      const latencies = new Latencies();
      const watches = new RawWatches(server, latencies.add);
      const writer = await Writer.open(server);
      const path = `${mapsPath}?watch=true&resourceVersion=${metadata.resourceVersion}`;
      for (let i = 0; i < connections; i++) await watches.open(path, watchers / connections);
      const name = (text: string) => `${workers} workers, ${text}`;
      const rate = { server, watches, latencies, writer, name };
      await measure(rate, 200, warmUpMs, false);
      for (const perSecond of values.events.split(',').map(Number)) {
        try {
          await measure(rate, perSecond, seconds * 1000, true);
        } catch (error) {
          // The server ends a watch that is too far behind.
          figure(name(`${perSecond} a second: FALLS BEHIND`), error instanceof Error ? error.message : String(error));
          break;
        }
      }
      watches.close();
      await writer.close();
    } finally {
      await server.stop();
    }
  } finally {
    await peer.destroy();
  }
}

if (watchers % connections !== 0) throw new Error('as many watchers on each connection: --watchers is no multiple');
process.stdout.write(`${machineLine()}\n`);
for (const workers of values.workers.split(',').map(Number)) await one(workers);
