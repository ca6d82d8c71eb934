/** The contract of a cache as a test suite, for any feed. */
import type { Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { isExpired, StatusError } from '#apimachinery/errors/status.js';
import {
  any,
  exact,
  latest,
  notOlderThan,
  objectOf,
  readWatch,
  type runCache as runsCache,
  show,
  thing,
} from '#storage/cache/cache-fixture.js';
import type { WatchCache } from '#storage/cache/watch-cache.js';
import { WatchOverflowError } from '#storage/cache/watcher.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import type { Entry } from '#storage/resource-storage.js';
import type { Revision, Store } from '#storage/store.js';

const newStore = () => new MemoryStore({ clock: realClock });

async function create(cache: WatchCache, key: string, value: number, labels?: Record<string, string>): Promise<Entry> {
  const entry = await cache.create(key, thing(key.slice(key.indexOf('/') + 1), value, labels));
  if (entry === undefined) throw new Error(`${key} exists`);
  return entry;
}

async function update(cache: WatchCache, entry: Entry, value: number, labels?: Record<string, string>): Promise<Entry> {
  const key = entry.key.slice(cache.prefix.length);
  const stored = thing(key.slice(key.indexOf('/') + 1), value, labels);
  const result = await cache.update(key, stored, entry.revision);
  if (!result.ok) throw new Error(`${key} has changed`);
  return result.entry;
}

const names = (entries: readonly Entry[]): string[] => entries.map((entry) => objectOf(entry).metadata.name);

async function statusOf(promise: Promise<unknown>): Promise<StatusError> {
  try {
    await promise;
  } catch (err) {
    if (err instanceof StatusError) return err;
    throw err;
  }
  throw new Error('no failure');
}

/** `runCache`: like the fixture's. */
export async function watchCacheContract(t: Test, runCache: typeof runsCache): Promise<void> {
  await t.test('writes and reads of an object', async (t) => {
    const cache = runCache(t, newStore());
    await cache.waitReady();
    const created = await create(cache, 'ns/a', 1);
    t.same(objectOf(created), {
      kind: 'Thing',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(created.revision), name: 'a', uid: 'a', labels: {} },
      value: 1,
    });
    t.same(created.stored, thing('a', 1));
    t.equal(await cache.get('ns/a', any), created, 'one entry serves the write and all reads');
    t.equal(await cache.get('ns/a', latest), created);
    t.equal(await cache.create('ns/a', thing('a', 2)), undefined, 'it exists');

    const updated = await update(cache, created, 2);
    t.equal((await cache.get('ns/a', any))?.revision, updated.revision, 'a read after a write sees it');
    t.equal(objectOf((await cache.get('ns/a', exact(created.revision))) as Entry).value, 1);
    const stale = await cache.update('ns/a', thing('a', 3), created.revision);
    t.equal(!stale.ok && stale.current, updated);

    const wrong = await cache.delete('ns/a', created.revision);
    t.equal(!wrong.ok && wrong.current, updated);
    const deleted = await cache.delete('ns/a', updated.revision);
    t.ok(deleted.ok && deleted.entry.revision > updated.revision);
    t.equal(deleted.ok && objectOf(deleted.entry).value, 2, 'a deletion gives the last state');
    t.equal(await cache.get('ns/a', any), undefined);
    t.equal(await cache.get('ns/a', latest), undefined);
    t.same(await cache.delete('ns/a', updated.revision), { ok: false, current: undefined });
    t.equal(await cache.selfCheck(), true);
  });

  await t.test('lists by scope, version and page', async (t) => {
    const cache = runCache(t, newStore());
    const entries: Entry[] = [];
    for (const key of ['a/1', 'a/2', 'a/3', 'b/1', 'b/2']) entries.push(await create(cache, key, 0));
    const list = (scope: string, version = latest) => cache.list({ scope, version });
    t.same(names((await list('')).entries), ['1', '2', '3', '1', '2']);
    t.same(names((await list('b/')).entries), ['1', '2']);
    t.same(names((await list('c/')).entries), []);
    t.equal((await list('')).revision, entries[4]?.revision);
    t.equal((await list('', exact(entries[1]?.revision ?? 0n))).entries.length, 2, 'an older version');

    const first = await cache.list({ scope: 'a/', version: latest, limit: 2 });
    t.match(first, { nextKey: 'a/3', remaining: 1, revision: entries[4]?.revision });
    const match = (entry: Entry) => objectOf(entry).metadata.name === '2';
    const selected = await cache.list({ scope: '', version: latest, limit: 1, match });
    t.same(names(selected.entries), ['2']);
    t.equal(selected.nextKey, 'b/2');
    t.equal(selected.remaining, undefined, 'unknown with a selector');
    const rest = await cache.list({ scope: '', version: exact(selected.revision), limit: 1, match, startKey: 'b/2' });
    t.same(names(rest.entries), ['2']);
    t.equal(rest.nextKey, undefined);
  });

  await t.test('pages are one snapshot, from memory and from the store', async (t) => {
    for (const limit of [1, 7, 50]) {
      const store = newStore();
      const cache = runCache(t, store);
      const entries = new Map<string, Entry>();
      for (let i = 0; i < 100; i++) {
        const key = `ns/${String(i).padStart(3, '0')}`;
        entries.set(key, await create(cache, key, 0));
      }
      const other = runCache(t, store);
      await other.waitReady();
      for (const reader of [cache, other]) {
        let page = await cache.list({ scope: '', version: latest, limit });
        const { revision } = page;
        const pagedEntries = [...page.entries];
        for (let n = 0; page.nextKey !== undefined; n++) {
          t.equal(page.remaining, 100 - pagedEntries.length);
          const changed = `ns/${String((n * 13) % 100).padStart(3, '0')}`;
          const current = entries.get(changed);
          if (current !== undefined) entries.set(changed, await update(cache, current, n));
          await create(cache, `ns/x${reader === cache ? 'a' : 'b'}${n}`, 0);
          page = await reader.list({ scope: '', version: exact(revision), limit, startKey: page.nextKey });
          t.equal(page.revision, revision);
          pagedEntries.push(...page.entries);
        }
        t.equal(pagedEntries.length, 100, `pages of ${limit}`);
        t.ok(pagedEntries.every((entry) => entry.revision <= revision));
        for (const key of (await cache.list({ scope: 'ns/x', version: latest })).entries) {
          await cache.delete(key.key.slice(cache.prefix.length), key.revision);
        }
      }
    }
  });

  await t.test('unavailable versions are refused', async (t) => {
    const store = newStore();
    const cache = runCache(t, store, { waitMs: 20 });
    const first = await create(cache, 'ns/a', 1);
    const second = await update(cache, first, 2);
    await store.compact(second.revision);
    await cache.list({ scope: '', version: latest });
    const gone = await statusOf(cache.list({ scope: '', version: exact(first.revision) }));
    t.ok(isExpired(gone));
    t.equal(gone.message, 'The resourceVersion for the provided list is too old.');
    for (const future of [notOlderThan(second.revision + 100n), exact(second.revision + 100n)]) {
      const error = await statusOf(cache.list({ scope: '', version: future }));
      t.equal(error.code, 504);
      t.match(error.message, /^Timeout: Too large resource version: \d+, current: \d+$/);
      t.equal(error.status.details?.retryAfterSeconds, 1);
    }
    t.equal(await cache.get('ns/a', notOlderThan(second.revision)), second);
  });

  await t.test('reads of an unfilled cache wait briefly, then get 429', async (t) => {
    const store = newStore();
    const silent = methodsOf(store);
    silent.range = ({ signal }) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true }));
    const cache = runCache(t, silent, { waitMs: 20 });
    t.equal(cache.ready(), false);
    for (const read of [cache.list({ scope: '', version: any }), cache.get('a', latest)]) {
      const error = await statusOf(read);
      t.equal(error.code, 429);
      t.equal(error.status.details?.retryAfterSeconds, 1);
    }
  });

  /** The store's methods as own properties, so that some can be replaced. */
  function methodsOf(store: Store): Store {
    const methods = ['range', 'create', 'update', 'delete', 'watch', 'requestProgress', 'currentRevision'] as const;
    const rest = ['compact', 'health', 'sizes', 'close'] as const;
    const bound = Object.fromEntries([...methods, ...rest].map((name) => [name, store[name].bind(store)]));
    return bound as unknown as Store;
  }

  await t.test('the start of watches', async (t) => {
    const cache = runCache(t, newStore());
    const a = await create(cache, 'ns/a', 1);
    const b = await create(cache, 'other/b', 1);
    const a2 = await update(cache, a, 2);
    const rows = [
      { name: 'most recent', version: latest, first: [`ADDED a=2@${a2.revision}`, `ADDED b=1@${b.revision}`] },
      { name: 'any', version: any, first: [`ADDED a=2@${a2.revision}`, `ADDED b=1@${b.revision}`] },
      {
        name: 'after the first',
        version: exact(a.revision),
        first: [`ADDED b=1@${b.revision}`, `MODIFIED a=2@${a2.revision}`],
      },
      { name: 'after all', version: exact(a2.revision), first: [] },
    ];
    await cache.list({ scope: '', version: latest });
    const readers = rows.map((row) => ({ ...row, watch: readWatch(t, cache, { version: row.version }) }));
    const scoped = readWatch(t, cache, { scope: 'other/', version: any });
    for (const { watch } of readers) await watch.opened();
    await scoped.opened();
    const c = await create(cache, 'other/c', 1);
    for (const { name, first, watch } of readers) {
      const seen = await watch.until((events) => events.length > first.length);
      t.same(seen.map(show), [...first, `ADDED c=1@${c.revision}`], name);
    }
    t.same((await scoped.until((events) => events.length > 1)).map(show), [
      `ADDED b=1@${b.revision}`,
      `ADDED c=1@${c.revision}`,
    ]);
    const initial = readWatch(t, cache, { sendInitialEvents: true, scope: 'ns/', bookmarks: true });
    t.same((await initial.until((events) => events.length > 1)).map(show), [
      `ADDED a=2@${a2.revision}`,
      `BOOKMARK@${c.revision} end`,
    ]);
  });

  await t.test('the events of a change for a selector', async (t) => {
    const cache = runCache(t, newStore());
    await cache.waitReady();
    const match = (entry: Entry) => objectOf(entry).metadata.labels['on'] === 'y';
    const watch = readWatch(t, cache, { match });
    await watch.opened();
    const on = { on: 'y' };
    const r: Revision[] = [];
    const keep = (entry: Entry) => {
      r.push(entry.revision);
      return entry;
    };
    let a = keep(await create(cache, 'ns/a', 0));
    a = keep(await update(cache, a, 1, on));
    a = keep(await update(cache, a, 2, on));
    a = keep(await update(cache, a, 3));
    a = keep(await update(cache, a, 4));
    a = keep(await update(cache, a, 5, on));
    const deleted = await cache.delete('ns/a', a.revision);
    keep(deleted.ok ? deleted.entry : a);
    const hidden = await create(cache, 'ns/b', 0);
    await cache.delete('ns/b', hidden.revision);
    const c = await create(cache, 'ns/c', 9, on);
    const expected = [
      `ADDED a=1@${r[1]}`,
      `MODIFIED a=2@${r[2]}`,
      `DELETED a=2@${r[3]}`,
      `ADDED a=5@${r[5]}`,
      `DELETED a=5@${r[6]}`,
      `ADDED c=9@${c.revision}`,
    ];
    t.same((await watch.until((events) => events.length >= expected.length)).map(show), expected);
    const again = readWatch(t, cache, { match, version: exact(r[0] ?? 0n) });
    t.same((await again.until((events) => events.length >= expected.length)).map(show), expected, 'resumed');
  });

  await t.test('bookmarks', async (t) => {
    const store = newStore();
    const cache = runCache(t, store, { bookmarkPeriodMs: 20 });
    const a = await create(cache, 'ns/a', 0);
    const watch = readWatch(t, cache, { bookmarks: true, version: exact(a.revision) });
    await store.create('/registry/others/x', Buffer.from('{}'));
    const elsewhere = await store.currentRevision();
    t.same((await watch.until((events) => events.length > 0)).map(show), [`BOOKMARK@${elsewhere}`], 'regularly');
    const plain = readWatch(t, cache, { version: exact(a.revision) });
    await plain.opened();
    plain.requestBookmark();
    t.same((await plain.until((events) => events.length > 0)).map(show), [`BOOKMARK@${elsewhere}`], 'when requested');
  });

  await t.test('a watch that is too old or too slow', async (t) => {
    const cache = runCache(t, newStore(), { historyCapacity: 5, watchBufferSize: 3 });
    const first = await create(cache, 'ns/first', 0);
    const slow = readWatch(t, cache, { version: exact(first.revision) });
    await slow.opened();
    for (let i = 0; i < 10; i++) await create(cache, `ns/${i}`, i);
    await cache.list({ scope: '', version: latest });
    const old = await statusOf(readWatch(t, cache, { version: exact(first.revision) }).opened());
    t.ok(isExpired(old));
    t.match(old.message, /^too old resource version: \d+ \(\d+\)$/);
    await t.rejects(
      slow.until(() => false),
      WatchOverflowError,
    );
    const { revision } = await cache.list({ scope: '', version: latest });
    const resumed = readWatch(t, cache, { version: exact(revision - 5n) });
    t.equal(
      (await resumed.until((events) => events.length === 5)).length,
      5,
      'more than a buffer may have been missed',
    );
  });

  await t.test('a cache that differs from the store detects it and recovers', async (t) => {
    const store = newStore();
    let lose = false;
    const lossy = methodsOf(store);
    lossy.watch = async function* (options) {
      for await (const message of store.watch(options)) {
        if (!lose || message.type !== 'events') yield message;
      }
    };
    const cache = runCache(t, lossy);
    const a = await create(cache, 'ns/a', 0);
    await create(cache, 'ns/b', 0);
    await cache.list({ scope: '', version: latest });
    t.equal(await cache.selfCheck(), true);
    const watch = readWatch(t, cache);
    await watch.opened();
    lose = true;
    await update(cache, a, 1);
    await store.delete('/registry/things/ns/b', (await cache.get('ns/b', any))?.revision ?? 0n);
    await cache.list({ scope: '', version: latest });
    t.equal(await cache.selfCheck(), false);
    lose = false;
    const events = await watch.until((seen) => seen.length >= 4);
    t.same(
      events
        .map((event) => show(event).replace(/@.*/, ''))
        .slice(2)
        .sort(),
      ['DELETED b=0', 'MODIFIED a=1'],
    );
    await cache.list({ scope: '', version: latest });
    t.equal(await cache.selfCheck(), true);
  });
}
