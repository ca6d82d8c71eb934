/**
 * Random writes through several API servers, watchers on all of them, and failures meanwhile. A separate program, because
 * tap's tracking of promises would cost more than all the rest: `node scenario.js WRITES SEED`, started by `fork`, sends one
 * Report.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { EtcdStore } from '#storage/etcd/etcd-store.js';
import { startEtcd } from '#test/etcd.js';
import {
  configMap,
  configMaps,
  mergePatch,
  openStore,
  type Response,
  type SpecClient,
} from '#test/integration/apiserver/spec/spec-server.js';
import { startServerProcess } from '#test/integration/apiserver/watch-history/api-server.js';
import { type Change, expected, follow, type Selection } from '#test/integration/apiserver/watch-history/changes.js';
import {
  Http1Transport,
  Http2Transport,
  Lines,
  type Transport,
  Watcher,
} from '#test/integration/apiserver/watch-history/watcher.js';

export interface Report {
  /** Watchers whose events differ from etcd's history; the first few, from the first difference. */
  readonly wrong: readonly { url: string; at: number; received: readonly string[]; expected: readonly string[] }[];
  readonly wrongCount: number;
  /** Acknowledged writes that etcd lacks. */
  readonly lost: readonly string[];
  readonly acknowledged: number;
  readonly changes: number;
  /** By all watchers together. */
  readonly events: number;
  readonly connections: number;
}

const watcherCount = 200;
const writerCount = 16;
const namespaces = ['n0', 'n1', 'n2'];
const tiers = ['a', 'b', 'c', 'd', 'e', 'f'];
const names = Array.from({ length: 30 }, (_, i) => `c${i}`);
/** Writes between two compactions, and the revisions that each compaction keeps. */
const compactionEvery = 1500;
const keptRevisions = 1500n;
/** Time limit from the last write to the last watcher's event. */
const patienceMs = 120_000;

/** Selections of watchers: everything, one namespace, or one tier of a namespace. */
function selections(): Selection[] {
  const everything: Selection = { url: '/api/v1/configmaps?', matches: () => true };
  const oneNamespace = namespaces.map((own) => ({
    url: `${configMaps(own)}?`,
    matches: (where: string) => where === own,
  }));
  const oneTier = namespaces.flatMap((own) =>
    tiers.map((tier) => ({
      url: `${configMaps(own)}?labelSelector=tier=${tier}&`,
      matches: (where: string, its: string | undefined) => where === own && its === tier,
    })),
  );
  return Array.from({ length: watcherCount }, (_, i) => {
    const some = i % 50 === 0 ? [everything] : i % 8 === 0 ? oneNamespace : oneTier;
    return some[Math.floor(i / 4) % some.length] ?? everything;
  });
}

/** Writes until this many writes are acknowledged. */
class Writers {
  /** Contents of acknowledged writes by revision, if the answer contained it. */
  readonly acknowledged = new Map<string, string>();
  count = 0;
  readonly #random: () => number;
  readonly #clients: () => readonly SpecClient[];
  readonly #target: number;
  /** Objects that exist according to the answers. */
  readonly #existing = new Set<string>();
  #sequence = 0;

  constructor(target: number, random: () => number, clients: () => readonly SpecClient[]) {
    this.#target = target;
    this.#random = random;
    this.#clients = clients;
  }

  async run(): Promise<void> {
    while (this.count < this.#target) {
      try {
        await this.#write();
      } catch {
        // Only etcd knows whether it was written.
        await sleep(5);
      }
    }
  }

  async #write(): Promise<void> {
    const namespace = pick(this.#random, namespaces);
    const name = pick(this.#random, names);
    const key = `${namespace}/${name}`;
    const path = configMaps(namespace);
    this.#sequence += 1;
    const n = String(this.#sequence);
    const body = configMap(name, { n }, { labels: { tier: pick(this.#random, tiers) } });
    const client = pick(this.#random, this.#clients());
    const draw = this.#random();
    const { status, json } = !this.#existing.has(key)
      ? await client.post(path, body)
      : draw < 0.5
        ? await client.put(`${path}/${name}`, body)
        : draw < 0.75
          ? await client.patch(`${path}/${name}`, mergePatch, body)
          : await client.delete(`${path}/${name}`);
    if (status === 404 || (status === 200 && json.kind === 'Status')) this.#existing.delete(key);
    else if (status === 409 || status < 300) this.#existing.add(key);
    if (status >= 300) return;
    this.count += 1;
    // The answer to a deletion lacks its revision.
    if (json.kind === 'ConfigMap') this.acknowledged.set(json.metadata.resourceVersion, `${key} ${n}`);
  }
}

async function scenario(writes: number, seed: number): Promise<Report> {
  const random = seededRandom(seed);
  const etcd = await startEtcd();
  const store = openStore(etcd);
  const [first, second, third] = await Promise.all([
    startServerProcess(etcd.endpoint),
    startServerProcess(etcd.endpoint),
    startServerProcess(etcd.endpoint),
  ]);
  let servers = [first, second, third];
  const version: string = (await first.client.get('/api/v1/configmaps')).json.metadata.resourceVersion;

  const changes: Change[] = [];
  const enough = new AbortController();
  const following = follow(store, BigInt(version) + 1n, changes, enough.signal);

  const lines = new Lines();
  // Two of three share a connection, as with most clients.
  const transports: Transport[] = [new Http1Transport(), new Http2Transport(), new Http2Transport()];
  const port = () => pick(random, servers).client.port;
  const watchers = selections().map(
    (selection) => new Watcher({ selection, transport: pick(random, transports), lines, version, port }),
  );
  const watching = watchers.map((watcher) => watcher.run());

  const writers = new Writers(writes, random, () => servers.map(({ client }) => client));
  const writing = Promise.all(Array.from({ length: writerCount }, () => writers.run()));
  const reached = (part: number) => until(() => writers.count >= writes * part);
  const compacting = compactEvery(store, writers, () => writers.count >= writes);

  await reached(0.2);
  servers = [first, second];
  await third.kill();
  await reached(0.4);
  const fourth = await startServerProcess(etcd.endpoint);
  servers = [first, second, fourth];
  await reached(0.6);
  await etcd.kill();
  await etcd.restart();
  await reached(0.8);
  servers = [second, fourth];
  await first.stop();
  const fifth = await startServerProcess(etcd.endpoint);
  servers = [second, fourth, fifth];
  await writing;
  await compacting;

  const last = await writeLast(second.client);
  await until(() => (changes.at(-1)?.revision ?? 0n) >= last, patienceMs);
  const expectedEvents = new Map(watchers.map(({ selection }) => [selection, [] as string[]]));
  for (const selection of expectedEvents.keys()) expectedEvents.set(selection, expected(changes, selection));
  const wantedOf = ({ selection }: Watcher) => expectedEvents.get(selection) ?? [];
  await until(() => watchers.every((watcher) => watcher.received.at(-1) === wantedOf(watcher).at(-1)), patienceMs);

  for (const watcher of watchers) watcher.stop();
  await Promise.all(watching);
  for (const transport of transports) transport.close();
  enough.abort();
  await following;
  await store.close();
  // Fails if a server's caches differed from etcd.
  for (const server of servers) await server.stop();
  await etcd.stop();

  const wrong = watchers.flatMap((watcher) => differences(watcher, wantedOf(watcher)));
  const written = new Set(
    changes.map(({ revision, namespace, name, stored }) => `${revision} ${namespace}/${name} ${stored?.content}`),
  );
  const acknowledged = [...writers.acknowledged].map(([revision, what]) => `${revision} ${what}`);
  return {
    wrong: wrong.slice(0, 3),
    wrongCount: wrong.length,
    lost: acknowledged.filter((write) => !written.has(write)),
    acknowledged: writers.count,
    changes: changes.length,
    events: watchers.reduce((sum, { received }) => sum + received.length, 0),
    connections: watchers.reduce((sum, { connections }) => sum + connections, 0),
  };
}

function differences({ received, selection }: Watcher, expected: readonly string[]): Report['wrong'] {
  const at = Array.from({ length: Math.max(received.length, expected.length) }).findIndex(
    (_, i) => received[i] !== expected[i],
  );
  if (at < 0) return [];
  return [{ url: selection.url, at, received: received.slice(at, at + 3), expected: expected.slice(at, at + 3) }];
}

/** Changes of which every watcher receives at least one; resolves with the revision of the last. */
async function writeLast(client: SpecClient): Promise<bigint> {
  let last = 0n;
  for (const namespace of namespaces)
    for (const tier of tiers) {
      const body = configMap(`end-${tier}`, {}, { labels: { tier } });
      const { metadata } = await sendUntilAnswered(() => client.post(configMaps(namespace), body));
      last = BigInt(metadata.resourceVersion);
    }
  return last;
}

async function sendUntilAnswered(run: () => Promise<Response>): Promise<Response['json']> {
  for (;;) {
    const { status, json } = await run();
    if (status === 201) return json;
    await sleep(50);
  }
}

/** Compacts etcd repeatedly. */
async function compactEvery(store: EtcdStore, writers: Writers, over: () => boolean): Promise<void> {
  for (let next = compactionEvery; !over(); next += compactionEvery) {
    await until(() => writers.count >= next || over());
    try {
      const revision = (await store.currentRevision()) - keptRevisions;
      if (revision > 0n) await store.compact(revision);
    } catch {
      // etcd is down: compact later.
    }
  }
}

/** Also resolves on timeout: the events received show what is missing. */
async function until(condition: () => boolean, withinMs = Number.POSITIVE_INFINITY): Promise<void> {
  const end = performance.now() + withinMs;
  while (!condition() && performance.now() < end) await sleep(20);
}

function pick<T>(random: () => number, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)] as T;
}

const [, , writes, seed] = process.argv;
if (process.send === undefined) throw new Error('started by fork');
const orphaned = () => process.exit(1);
process.once('disconnect', orphaned);
const report = await scenario(Number(writes), Number(seed));
process.off('disconnect', orphaned);
process.send(report, () => process.disconnect());
