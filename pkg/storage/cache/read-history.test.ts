/** Watches from before the cache was filled continue. */
import t, { type Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { StatusError } from '#apimachinery/errors/status.js';
import { silentLogger } from '#daemon/log/logger.js';
import { exact, latest, objectOf, readWatch, runCache, show, thing } from '#storage/cache/cache-fixture.js';
import { readHistory } from '#storage/cache/read-history.js';
import type { WatchCache, WatchCacheOptions } from '#storage/cache/watch-cache.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Entry } from '#storage/resource-storage.js';
import type { Store } from '#storage/store.js';
import { startEtcd } from '#test/etcd.js';

const root = '/registry';
const isRed = (entry: Entry) => objectOf(entry).metadata.labels['color'] === 'red';

/** A cache with earlier history, as after a restart of its server. */
async function restarted(
  t: Test,
  store: Store,
  options: { maxRevisions?: number; maxBytes?: number; cache?: Partial<WatchCacheOptions> } = {},
): Promise<WatchCache> {
  const cache = runCache(t, store, { ...options.cache, awaitsHistory: true });
  await cache.waitReady();
  const { maxRevisions, maxBytes } = options;
  const limits = { ...(maxRevisions !== undefined && { maxRevisions }), ...(maxBytes !== undefined && { maxBytes }) };
  const receivers = [cache];
  await readHistory({ store, root, receivers, clock, log: silentLogger, ...limits }, new AbortController().signal);
  return cache;
}

async function tooOld(t: Test, cache: WatchCache, revision: bigint): Promise<void> {
  const error = await readWatch(t, cache, { version: exact(revision) })
    .opened()
    .then(
      () => undefined,
      (err: unknown) => err,
    );
  t.ok(error instanceof StatusError && error.code === 410, `a watch from ${revision} is too old`);
}

async function goesOn(t: Test, store: Store): Promise<void> {
  const first = runCache(t, store);
  await first.waitReady();
  const kept = await first.create('ns/kept', thing('kept', 1, { color: 'red' }));
  const turned = await first.create('ns/turned', thing('turned', 1, { color: 'red' }));
  const gone = await first.create('ns/gone', thing('gone', 1, { color: 'red' }));
  if (kept === undefined || turned === undefined || gone === undefined) throw new Error('not created');
  const from = (await first.list({ scope: '', version: latest })).revision;
  await first.update('ns/kept', thing('kept', 2, { color: 'red' }), kept.revision);
  const blue = await first.update('ns/turned', thing('turned', 2, { color: 'blue' }), turned.revision);
  if (blue.ok) await first.update('ns/turned', thing('turned', 3, { color: 'red' }), blue.entry.revision);
  await first.delete('ns/gone', gone.revision);
  const short = await first.create('ns/short', thing('short', 1));
  if (short !== undefined) await first.delete('ns/short', short.revision);
  // Another resource, so that this resource's last change is not the store's.
  await store.create('/registry/others/x', Buffer.from('x'));

  const second = await restarted(t, store);
  for (const match of [undefined, isRed]) {
    for (const revision of [from, blue.ok ? blue.entry.revision : 0n]) {
      const options = { version: exact(revision), ...(match && { match }) };
      const [before, after] = [readWatch(t, first, options), readWatch(t, second, options)];
      await after.opened();
      const end = await first.create(`ns/end${revision}${match === undefined}`, thing('end', 1, { color: 'red' }));
      const isEnd = (events: readonly { revision: bigint }[]) => events.at(-1)?.revision === end?.revision;
      t.same((await after.until(isEnd)).map(show), (await before.until(isEnd)).map(show));
    }
  }
  t.equal(await second.selfCheck(), true);
}

async function asFarAsPossible(t: Test, store: Store): Promise<void> {
  const first = runCache(t, store);
  await first.waitReady();
  const revisions: bigint[] = [];
  let last = await first.create('ns/a', thing('a', 0));
  for (let i = 1; i <= 20 && last !== undefined; i++) {
    revisions.push(last.revision);
    const result = await first.update('ns/a', thing('a', i), last.revision);
    if (result.ok) last = result.entry as typeof last;
  }
  const newest = last?.revision ?? 0n;
  const count = async (cache: WatchCache, from: bigint) => {
    const watch = readWatch(t, cache, { version: exact(from) });
    return (await watch.until((seen) => seen.at(-1)?.revision === newest)).length;
  };
  const near = await restarted(t, store, { maxRevisions: 5 });
  await tooOld(t, near, revisions[5] ?? 0n);
  t.equal(await count(near, newest - 3n), 3);

  const small = await restarted(t, store, { cache: { historyCapacity: 4 } });
  await tooOld(t, small, newest - 5n);
  t.equal(await count(small, newest - 4n), 4);

  const few = await restarted(t, store, { maxBytes: 16 * thing('a', 10).length });
  await tooOld(t, few, revisions[5] ?? 0n);
  t.equal(await count(few, newest - 3n), 3);

  const compacted = revisions[10] ?? 0n;
  await store.compact(compacted);
  const after = await restarted(t, store);
  await tooOld(t, after, revisions[9] ?? 0n);
  t.equal(await count(after, newest - 3n), 3);
  t.equal(await count(after, compacted + 1n), Number(newest - compacted - 1n), 'all changes that the store still has');

  await store.compact(newest);
  const none = await restarted(t, store);
  await tooOld(t, none, newest - 1n);
}

for (const [name, run] of [
  ['a resumed watch sees what one sees that was there', goesOn],
  ['history goes as far as its bounds and the store allow', asFarAsPossible],
] as const) {
  void t.test(`${name}, in memory`, (t) => run(t, new MemoryStore({ clock })));
  void t.test(`${name}, on etcd`, async (t) => {
    const etcd = await startEtcd();
    t.teardown(() => etcd.stop());
    const store = new EtcdStore({ endpoints: [etcd.endpoint], clock, random: Math.random });
    t.teardown(() => store.close());
    await run(t, store);
  });
}

void t.test('a watch waits while the history is read', async (t) => {
  const store = new MemoryStore({ clock });
  const { revision } = await store.create('/registry/things/ns/a', thing('a', 1));
  const cache = runCache(t, store, { awaitsHistory: true, waitMs: 60_000 });
  await cache.waitReady();
  const watch = readWatch(t, cache, { version: exact(revision - 1n) });
  const opening = watch.opened();
  const log = silentLogger;
  await readHistory({ store, root, receivers: [cache], clock, log }, new AbortController().signal);
  await opening;
  t.same((await watch.until((events) => events.length === 1)).map(show), [`ADDED a=1@${revision}`]);

  const other = runCache(t, store, { awaitsHistory: true, waitMs: 100 });
  await other.waitReady();
  const refused = await readWatch(t, other, { version: exact(revision - 1n) })
    .opened()
    .catch((err: unknown) => err);
  t.ok(refused instanceof StatusError && refused.code === 429, 'the watch need not start again');
  await store.compact(revision);
  await readHistory({ store, root, receivers: [other], clock, log }, new AbortController().signal);
  await tooOld(t, other, revision - 1n);
});
