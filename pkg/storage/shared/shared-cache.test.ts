import { MessageChannel } from 'node:worker_threads';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { CacheEntry, entryContext } from '#storage/cache/cache-entry.js';
import { any, latest, objectOf, readWatch, runCache, show, thing } from '#storage/cache/cache-fixture.js';
import { everyWatcherSeesEverything } from '#storage/cache/convergence-contract.js';
import { CacheState } from '#storage/cache/state.js';
import { watchCacheContract } from '#storage/cache/watch-cache-contract.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { copyBytes, isWhole } from '#storage/segments/segmented.js';
import { Publisher } from '#storage/shared/publisher.js';
import { sharingCaches } from '#storage/shared/shared-fixture.js';
import { Subscriber } from '#storage/shared/subscriber.js';

const runShared: typeof runCache = (t, store, options) => sharingCaches(t, store, options).reader(options).cache;

void t.test('a cache over shared memory is a cache', (t) => watchCacheContract(t, runShared));

void t.test('every watcher of it sees everything', (t) =>
  everyWatcherSeesEverything(t, new MemoryStore({ clock: realClock }), runShared),
);

void t.test('readers share the bytes of the one that follows the store', async (t) => {
  const { keeper, reader, publisher } = sharingCaches(t, new MemoryStore({ clock: realClock }));
  await keeper.waitReady();
  const early = reader().cache;
  await early.waitReady();
  const written = await early.create('ns/a', thing('a', 1));
  await keeper.create('ns/b', thing('b', 1));
  const late = reader().cache;
  await late.waitReady();
  const memories = new Set<ArrayBufferLike>();
  for (const cache of [keeper, early, late]) {
    const { entries } = await cache.list({ scope: '', version: latest });
    t.equal(entries.length, 2);
    for (const entry of entries) {
      t.ok(entry.json().buffer instanceof SharedArrayBuffer);
      memories.add(entry.json().buffer);
      t.equal(entry.line().toString(), `${entry.json().toString()}\n`);
    }
  }
  t.equal(memories.size, 3, 'each has its own view of the one slab');
  t.equal(await early.get('ns/a', any), written, 'the entry of a write stays');
  t.ok(publisher.size.slabs >= publisher.size.live);
});

void t.test('memory is given back while objects change', async (t) => {
  const { keeper, reader, publisher } = sharingCaches(t, new MemoryStore({ clock: realClock }), {
    historyCapacity: 10,
    watchBufferSize: 10_000,
  });
  const { cache } = reader();
  await Promise.all([keeper.waitReady(), cache.waitReady()]);
  const random = seededRandom(20_241);
  const letters = () => Array.from({ length: 300 }, () => random().toString(36).slice(2, 12)).join('');
  const revisions = new Map<string, bigint>();
  for (let i = 0; i < 200; i++) {
    const name = `${i}`;
    revisions.set(name, (await keeper.create(`ns/${name}`, thing(name, 0, { own: letters() })))?.revision ?? 0n);
  }
  const watch = readWatch(t, cache, {});
  await watch.opened();
  // One in ten is never changed, and what lies around it must go all the same.
  for (let i = 0; i < 2000; i++) {
    const name = `${i % 200}`;
    if (i % 10 === 0) continue;
    const changed = thing(name, i, { own: letters() });
    const result = await keeper.update(`ns/${name}`, changed, revisions.get(name) ?? 0n);
    if (!result.ok) throw new Error(`${name} has changed`);
    revisions.set(name, result.entry.revision);
  }
  await watch.until((events) => events.length >= 200 + 1800);
  const { live, slabs } = publisher.size;
  t.ok(live > 200 * 3000, `${live} bytes in use`);
  t.ok(slabs < 3 * live, `${slabs} bytes in slabs`);
  const { entries } = await cache.list({ scope: '', version: latest });
  t.same(new Map(entries.map((entry) => [objectOf(entry).metadata.name, entry.revision])), revisions);
  t.equal(await cache.selfCheck(), true);
  t.ok(new Set(entries.map((entry) => entry.json().buffer)).size < 20, 'nothing is left in old slabs');
  const seen = watch.events.filter((event) => event.type === 'MODIFIED').map(show);
  t.equal(new Set(seen).size, 1800);
});

void t.test('what objects have in common is in shared memory once', async (t) => {
  const { keeper, reader, publisher } = sharingCaches(t, new MemoryStore({ clock: realClock }));
  const early = reader().cache;
  await Promise.all([keeper.waitReady(), early.waitReady()]);
  const template = Array.from({ length: 100 }, (_, i) => `line ${i} of what all have in common`).join(' ');
  const written = new Map<string, Buffer>();
  for (let i = 0; i < 300; i++) {
    const name = `web-6d4cf56db6-${i}`;
    // Readers write, too; another template comes when some are there, and others go.
    const stored = thing(name, i, { lines: i < 200 ? template : template.toUpperCase() });
    const entry = await (i % 2 === 0 ? keeper : early).create(`ns/${name}`, stored);
    written.set(name, Buffer.from(entry?.json() ?? ''));
    if (i % 3 > 0 || entry === undefined) continue;
    const gone = await early.delete(`ns/${name}`, entry.revision);
    t.ok(gone.ok);
    written.delete(name);
  }
  const late = reader().cache;
  await late.waitReady();
  for (const cache of [keeper, early, late]) {
    const { entries } = await cache.list({ scope: '', version: latest });
    t.equal(entries.length, written.size);
    const inParts = entries.filter((entry) => !isWhole(entry.jsonBytes()));
    t.ok(inParts.length > entries.length / 2);
    for (const entry of entries) {
      const json = written.get(objectOf(entry).metadata.name) ?? Buffer.alloc(0);
      const rest = Buffer.alloc(json.length - 10);
      copyBytes(entry.jsonBytes(), rest, 0, 10);
      const same = rest.equals(json.subarray(10)) && entry.json().equals(json);
      if (!same) t.fail(`${entry.key}: ${entry.json()}`);
    }
    t.equal(await cache.selfCheck(), true);
  }
  const all = [...written.values()].reduce((sum, { length }) => sum + length, 0);
  t.ok(publisher.size.live < all / 4, `${publisher.size.live} of ${all} bytes`);
});

void t.test('outlines of what was there are found once, in the thread that follows the store', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  const writer = runCache(t, store);
  for (const name of ['a', 'b']) await writer.create(`ns/${name}`, thing(name, 1, { lines: 'x'.repeat(1000) }));
  const { keeper, reader } = sharingCaches(t, store, { bulk: { metadata: { labels: true } } });
  const { cache } = reader();
  await Promise.all([keeper.waitReady(), cache.waitReady()]);
  for (const name of ['a', 'b']) {
    const [own, told] = [await keeper.get(`ns/${name}`, any), await cache.get(`ns/${name}`, any)];
    if (!(own instanceof CacheEntry) || !(told instanceof CacheEntry)) throw new TypeError('no such entry');
    const { knownOutline } = told;
    t.ok(knownOutline !== undefined && own.knownOutline?.equals(knownOutline), 'without being asked for');
    t.not(knownOutline?.buffer, own.knownOutline?.buffer, 'each thread has its own');
    // Before the object itself is at hand, which is as good.
    const outline = told.outline();
    const { labels: _, ...metadata } = objectOf(told).metadata;
    t.same(outline, { ...objectOf(told), metadata });
  }
  const written = await keeper.create('ns/c', thing('c', 1, { lines: 'y' }));
  const { entries } = await cache.list({ scope: '', version: latest });
  t.match(entries.find(({ key }) => key === written?.key)?.outline(), { metadata: { name: 'c' } }, 'of others, too');
});

void t.test('what the last object had in common with others may be needed again in the same turn', async (t) => {
  const prefix = '/registry/things/';
  const publisher = new Publisher({ defer: setImmediate, requestProgress: () => {}, distrusted: () => {} });
  const context = entryContext();
  const limits = { historyCapacity: 10, historyMaxBytes: 1e6, historyMaxAgeMs: 1e6, sameObject: () => false };
  const state = new CacheState({ ...limits, clock: realClock, observer: publisher.observer(prefix) });
  const { port1, port2 } = new MessageChannel();
  t.teardown(() => port1.close());
  const copy = new CacheState({ ...limits, clock: realClock });
  new Subscriber(port2).feed({ state: copy, prefix, context: entryContext() });
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i} of what all have in common`).join(' ');
  let revision = 0n;
  const write = (name: string) => {
    const key = `${prefix}ns/web-6d4cf56db6-${name}`;
    const value = thing(`web-6d4cf56db6-${name}`, 0, { lines });
    return { key, revision, entry: new CacheEntry({ key, value, modRevision: revision }, context) };
  };
  state.replace([], ++revision);
  publisher.add(port1);
  // The first one is what the template is made of.
  for (const name of ['first', 'a']) {
    revision++;
    state.apply([write(name)], revision);
  }
  for (const [gone, made] of ['ab', 'bc', 'cd', 'de']) {
    const deletion = { key: `${prefix}ns/web-6d4cf56db6-${gone}`, revision: ++revision };
    revision++;
    state.apply([deletion, write(made ?? '')], revision);
    await copy.reached(revision, new AbortController().signal);
    const [entry] = copy.entries.slice({});
    t.match(String(entry?.json()), `"name":"web-6d4cf56db6-${made}"`);
    revision++;
    state.apply([write(made ?? '')], revision);
    await copy.reached(revision, new AbortController().signal);
    t.equal(copy.entries.slice({})[0]?.revision, revision);
  }
});

void t.test('a reader that comes late resumes watches as the others do', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  const { keeper, reader } = sharingCaches(t, store);
  await keeper.waitReady();
  const a = await keeper.create('ns/a', thing('a', 1));
  const b = await keeper.create('ns/b', thing('b', 1));
  const changed = await keeper.update('ns/a', thing('a', 2), a?.revision ?? 0n);
  if (!changed.ok) throw new Error('changed');
  const gone = await keeper.delete('ns/b', b?.revision ?? 0n);
  if (!gone.ok) throw new Error('changed');
  await keeper.get('ns/a', latest);
  const { cache } = reader();
  const watch = readWatch(t, cache, { version: { kind: 'exact', revision: a?.revision ?? 0n } });
  const events = await watch.until(({ length }) => length === 3);
  t.same(events.map(show), [
    `ADDED b=1@${b?.revision}`,
    `MODIFIED a=2@${changed.entry.revision}`,
    `DELETED b=1@${gone.entry.revision}`,
  ]);
});
