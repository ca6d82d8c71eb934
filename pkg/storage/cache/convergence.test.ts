/** Many watchers through many random writes: each sees exactly what its selector makes of the store's history. */
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { latest, objectOf, readWatch, runCache, show, thing, type WatchReader } from '#storage/cache/cache-fixture.js';
import type { WatchCache } from '#storage/cache/watch-cache.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Entry } from '#storage/resource-storage.js';
import type { Revision, Store } from '#storage/store.js';
import { startEtcd } from '#test/etcd.js';

const watcherCount = 50;
const writeCount = 2000;
const keyCount = 40;
/** Writes under way at once. */
const writers = 8;

/** A small generator of repeatable numbers (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One acknowledged write; without a state a deletion. */
interface Written {
  readonly name: string;
  readonly revision: Revision;
  readonly state?: { readonly color: string; readonly value: number };
}

const colors = ['red', 'green', 'blue'];

/** Random writes from several writers at once, each on keys of its own; returns what was acknowledged. */
async function write(cache: WatchCache, random: () => number): Promise<Written[]> {
  const history: Written[] = [];
  const one = async (writer: number) => {
    for (let i = 0; i < writeCount / writers; i++) {
      const name = `${writer}-${Math.floor(random() * (keyCount / writers))}`;
      const color = colors[Math.floor(random() * colors.length)] as string;
      const current = await cache.get(`ns/${name}`, { kind: 'any' });
      const state = { color, value: i };
      const stored = thing(name, i, { color });
      if (current === undefined) {
        const entry = await cache.create(`ns/${name}`, stored);
        if (entry === undefined) throw new Error(`${name} exists already`);
        history.push({ name, revision: entry.revision, state });
        continue;
      }
      const remove = random() < 0.2;
      const result = remove
        ? await cache.delete(`ns/${name}`, current.revision)
        : await cache.update(`ns/${name}`, stored, current.revision);
      if (!result.ok) throw new Error(`${name} was changed by somebody else`);
      history.push({ name, revision: result.entry.revision, ...(remove ? {} : { state }) });
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => one(writer)));
  return history.sort((a, b) => (a.revision < b.revision ? -1 : 1));
}

/** The events that one who selects a color must see. */
function expected(history: readonly Written[], color: string | undefined): string[] {
  const states = new Map<string, Written['state']>();
  const events: string[] = [];
  const matches = (state: Written['state']) => state !== undefined && (color === undefined || state.color === color);
  for (const { name, revision, state } of history) {
    const before = states.get(name);
    states.set(name, state);
    if (matches(state)) events.push(`${matches(before) ? 'MODIFIED' : 'ADDED'} ${name}=${state?.value}@${revision}`);
    else if (matches(before)) events.push(`DELETED ${name}=${before?.value}@${revision}`);
  }
  return events;
}

async function everyWatcherSeesEverything(t: Test, store: Store): Promise<void> {
  const seed = 20_241;
  t.comment(`seed ${seed}`);
  const cache = runCache(t, store, { watchBufferSize: 10_000 });
  const other = runCache(t, store, { watchBufferSize: 10_000 });
  await Promise.all([cache.waitReady(), other.waitReady()]);
  const readers: { color: string | undefined; watch: WatchReader }[] = [];
  for (let i = 0; i < watcherCount; i++) {
    const color = [undefined, ...colors][i % 4];
    const match =
      color === undefined ? {} : { match: (entry: Entry) => objectOf(entry).metadata.labels['color'] === color };
    const watch = readWatch(t, i % 2 === 0 ? cache : other, match);
    await watch.opened();
    readers.push({ color, watch });
  }
  const history = await write(cache, seeded(seed));
  t.equal(history.length, writeCount);
  for (const [i, { color, watch }] of readers.entries()) {
    const wanted = expected(history, color);
    const seen = await watch.until((events) => events.length >= wanted.length);
    t.same(seen.map(show), wanted, `watcher ${i} of ${color ?? 'all'}`);
  }
  for (const each of [cache, other]) {
    const list = await each.list({ scope: '', version: latest });
    const live = new Map<string, bigint>();
    for (const { name, revision, state } of history) {
      if (state === undefined) live.delete(name);
      else live.set(name, revision);
    }
    t.same(new Map(list.entries.map((entry) => [objectOf(entry).metadata.name, entry.revision])), live);
    t.equal(await each.selfCheck(), true);
  }
}

void t.test('on the store in memory', (t) => everyWatcherSeesEverything(t, new MemoryStore({ clock: realClock })));

void t.test('on etcd', async (t) => {
  const etcd = await startEtcd();
  t.teardown(() => etcd.stop());
  const store = new EtcdStore({ endpoints: [etcd.endpoint], clock: realClock, random: Math.random });
  t.teardown(() => store.close());
  await everyWatcherSeesEverything(t, store);
});
