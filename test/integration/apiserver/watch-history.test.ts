/**
 * Two hundred watchers, random writes through two servers, and everything that may happen meanwhile: a server goes and
 * another one comes, etcd is killed and comes back, history is compacted. Each watcher has to be told exactly what etcd's own
 * history says, from its beginning to the end, over all its connections.
 *
 *     node dist/test/integration/apiserver/watch-history.test.js writes=20000 seed=7
 */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { prefixEnd } from '#storage/store.js';
import { startEtcd, type TestEtcd } from '#test/etcd.js';
import { seededRandom } from '#test/integration/apiserver/model/random.js';
import {
  configMap,
  configMaps,
  openStore,
  type SpecClient,
  serveOver,
  type Watch,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

const argument = (name: string, otherwise: number): number =>
  Number(process.argv.find((text) => text.startsWith(`${name}=`))?.slice(name.length + 1) ?? otherwise);

const writes = argument('writes', 1500);
const seed = argument('seed', Math.floor(Math.random() * 2 ** 31));
const watcherCount = 200;
const writerCount = 8;
const namespaces = ['n0', 'n1', 'n2'];
const tiers = ['a', 'b', 'c'];
const names = Array.from({ length: 20 }, (_, i) => `c${i}`);
/** Revisions that compaction leaves. */
const keptRevisions = 300n;

const patienceMs = 3_600_000;
t.setTimeout(patienceMs);

interface Stored {
  readonly revision: bigint;
  readonly namespace: string;
  readonly name: string;
  /** Undefined after a deletion. */
  readonly tier: string | undefined;
  readonly deleted: boolean;
}

/** Everything that etcd tells of config maps from that revision on, as it comes. */
function follow(t: Test, etcd: TestEtcd, from: bigint): Stored[] {
  const store = openStore(etcd);
  const stop = new AbortController();
  const start = '/registry/configmaps/';
  const events: Stored[] = [];
  const reading = (async () => {
    for await (const message of store.watch({
      start,
      end: prefixEnd(start),
      fromRevision: from,
      signal: stop.signal,
    })) {
      if (message.type !== 'events') continue;
      for (const event of message.events) {
        const { key, modRevision } = event.type === 'put' ? event.kv : event;
        const [namespace = '', name = ''] = key.slice(start.length).split('/');
        const tier = event.type === 'put' ? JSON.parse(event.kv.value.toString()).metadata.labels?.tier : undefined;
        events.push({ revision: modRevision, namespace, name, tier, deleted: event.type === 'delete' });
      }
    }
  })();
  t.teardown(async () => {
    stop.abort();
    await reading.catch(() => undefined);
    await store.close();
  });
  return events;
}

interface Selection {
  readonly url: string;
  matches(namespace: string, tier: string | undefined): boolean;
}

/** What watchers watch: everything, one namespace, or one tier of one namespace. */
function selectionOf(i: number): Selection {
  if (i % 20 === 0) return { url: '/api/v1/configmaps?', matches: () => true };
  const namespace = namespaces[i % namespaces.length] ?? '';
  if (i % 4 === 0) return { url: `${configMaps(namespace)}?`, matches: (where) => where === namespace };
  const tier = tiers[Math.floor(i / namespaces.length) % tiers.length] ?? '';
  return {
    url: `${configMaps(namespace)}?labelSelector=tier=${tier}&`,
    matches: (where, own) => where === namespace && own === tier,
  };
}

/** What a watch with that selection has to tell. */
function expected(events: readonly Stored[], { matches }: Selection): string[] {
  const before = new Map<string, boolean>();
  const told: string[] = [];
  for (const { revision, namespace, name, tier, deleted } of events) {
    const key = `${namespace}/${name}`;
    const was = before.get(key) ?? false;
    const is = !deleted && matches(namespace, tier);
    before.set(key, is);
    if (is || was) told.push(`${is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED'} ${key} ${revision}`);
  }
  return told;
}

/** Watches over and over again, each time from where it was, whichever server there is. */
class Watcher {
  readonly selection: Selection;
  readonly told: string[] = [];
  connections = 0;
  #version: string;
  #current: Watch | undefined;
  #done = false;

  constructor(selection: Selection, version: string) {
    this.selection = selection;
    this.#version = version;
  }

  async run(t: Test, client: () => SpecClient): Promise<void> {
    while (!this.#done) {
      try {
        const url = `${this.selection.url}watch=1&allowWatchBookmarks=true&resourceVersion=${this.#version}`;
        const watch = await client().watch(t, url);
        this.connections += 1;
        this.#current = watch;
        await this.#read(watch);
      } catch {
        // The server is going or not there yet.
        await sleep(20);
      }
    }
  }

  stop(): void {
    this.#done = true;
    this.#current?.close();
  }

  async #read(watch: Watch): Promise<void> {
    let at = 0;
    const take = () => {
      for (; at < watch.events.length; at += 1) {
        const event = watch.events[at];
        if (event === undefined) break;
        // Told in the log of differences at the end.
        if (event.type === 'ERROR') this.told.push(`ERROR ${event.object.message}`);
        const { metadata } = event.object;
        if (event.type === 'ERROR') continue;
        this.#version = metadata.resourceVersion;
        if (event.type !== 'BOOKMARK') {
          this.told.push(`${event.type} ${metadata.namespace}/${metadata.name} ${metadata.resourceVersion}`);
        }
      }
    };
    for (;;) {
      try {
        await watch.until(at + 1);
      } catch {
        take();
        return;
      }
      take();
    }
  }
}

t.test(`watchers through everything, seed ${seed}`, { ...withEtcd, timeout: patienceMs }, async (t) => {
  t.comment(`seed=${seed} writes=${writes}`);
  const random = seededRandom(seed);
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const { client: first } = await serveOver(t, etcd);
  const stay = (await serveOver(t, etcd)).client;
  const passing = await startPassing(etcd);
  const version = (await first.get('/api/v1/configmaps')).json.metadata.resourceVersion;
  const history = follow(t, etcd, BigInt(version) + 1n);
  let clients = [first, stay, passing.client];

  const watchers = Array.from({ length: watcherCount }, (_, i) => new Watcher(selectionOf(i), version));
  const watching = watchers.map((watcher, i) => watcher.run(t, () => clients[i % clients.length] ?? first));

  let left = writes;
  const write = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const path = configMaps(pick(random, namespaces));
      const name = pick(random, names);
      const body = configMap(name, { n: String(left) }, { labels: { tier: pick(random, tiers) } });
      const client = pick(random, clients);
      const draw = random();
      try {
        if (draw < 0.4) await client.post(path, body);
        else if (draw < 0.75) await client.put(`${path}/${name}`, body);
        else await client.delete(`${path}/${name}`);
      } catch {
        // Whether it was written is for etcd to say.
        await sleep(5);
      }
    }
  };
  const writing = Array.from({ length: writerCount }, write);

  await until(() => left < writes * 0.75);
  await compact(etcd);
  clients = [first, stay];
  await passing.stop();
  await until(() => left < writes * 0.5);
  await etcd.kill();
  await etcd.restart();
  await until(() => left < writes * 0.25);
  await compact(etcd);
  const next = await startPassing(etcd);
  t.teardown(() => next.stop());
  clients = [first, stay, next.client];
  await Promise.all(writing);

  // The last change is one that every watcher is told.
  const end = new Map<string, string>();
  for (const namespace of namespaces)
    for (const tier of tiers) {
      const made = await made201(() =>
        first.post(configMaps(namespace), configMap(`end-${tier}`, {}, { labels: { tier } })),
      );
      end.set(`${namespace}/${tier}`, made);
    }
  const last = BigInt([...end.values()].at(-1) ?? '0');
  await until(() => (history.at(-1)?.revision ?? 0n) >= last);
  const wanted = watchers.map(({ selection }) => expected(history, selection));
  await until(() => watchers.every(({ told }, i) => told.at(-1) === wanted[i]?.at(-1)));
  for (const watcher of watchers) watcher.stop();
  await Promise.all(watching);

  const wrong = watchers.flatMap(({ told, selection }, i) => {
    const at = told.findIndex((text, k) => text !== wanted[i]?.[k]);
    return at < 0 && told.length === wanted[i]?.length
      ? []
      : [{ url: selection.url, at, told: told.slice(at, at + 3), wanted: wanted[i]?.slice(at, at + 3) }];
  });
  t.same(wrong.slice(0, 3), [], `${wrong.length} of ${watcherCount} watchers were told something else`);
  t.ok(
    watchers.some(({ connections }) => connections > 1),
    'some had to connect again',
  );
  t.comment(`${history.length} changes, ${watchers.reduce((sum, { told }) => sum + told.length, 0)} events told`);
});

/** A server that goes before the test does. */
async function startPassing(etcd: TestEtcd): Promise<{ client: SpecClient; stop: () => Promise<void> }> {
  const teardowns: (() => unknown)[] = [];
  const scope = { teardown: (run: () => unknown) => void teardowns.push(run) } as unknown as Test;
  const { client } = await serveOver(scope, etcd);
  let stopped = false;
  return {
    client,
    async stop() {
      if (stopped) return;
      stopped = true;
      for (const run of teardowns.reverse()) await run();
    },
  };
}

async function compact(etcd: TestEtcd): Promise<void> {
  const store = openStore(etcd);
  const revision = (await store.currentRevision()) - keptRevisions;
  if (revision > 0n) await store.compact(revision);
  await store.close();
}

async function made201(run: () => Promise<{ status: number; json: { metadata: { resourceVersion: string } } }>) {
  for (;;) {
    const { status, json } = await run().catch(() => ({ status: 0, json: undefined }));
    if (status === 201 && json !== undefined) return json.metadata.resourceVersion;
    await sleep(50);
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}

function pick<T>(random: () => number, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)] as T;
}
