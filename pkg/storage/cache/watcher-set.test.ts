import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { CacheEntry, entryContext } from '#storage/cache/cache-entry.js';
import { objectOf, show, thing } from '#storage/cache/cache-fixture.js';
import { Change } from '#storage/cache/event-ring.js';
import { Watcher } from '#storage/cache/watcher.js';
import { NotificationQueue, WatcherSet } from '#storage/cache/watcher-set.js';
import type { Entry } from '#storage/resource-storage.js';

const key = '/registry/things/ns/a';
const entry = (modRevision: bigint, color: string, value = thing('a', 1, { color })) =>
  new CacheEntry({ key, value, modRevision }, entryContext());
let tests = 0;
const colorOf = (of: Entry): string => objectOf(of).metadata.labels['color'] ?? '';

function watcherOf(color: string | undefined): Watcher {
  const notifications = new NotificationQueue(realClock);
  const match = (each: Entry) => {
    tests++;
    return colorOf(each) === color;
  };
  return new Watcher({
    scope: '/registry/things/',
    seen: 0n,
    bufferSize: 100,
    bookmarks: false,
    notify: (wake) => notifications.add(wake),
    match: color === undefined ? undefined : match,
    only: color === undefined ? undefined : { field: 'color', read: colorOf, value: color },
  });
}

async function seen(watcher: Watcher): Promise<string[]> {
  watcher.end();
  return ((await watcher.take()) ?? []).map(show);
}

void t.test('a change reaches the watchers that select it without tests of others', async (t) => {
  const set = new WatcherSet();
  const colors = Array.from({ length: 100 }, (_, i) => `color-${i}`);
  const watchers = colors.map(watcherOf);
  const all = watcherOf(undefined);
  const left = watcherOf('color-1');
  for (const watcher of [...watchers, all, left]) set.add(watcher);
  t.equal(set.size, 102);
  set.delete(left);
  const [first, second, third] = [entry(1n, 'color-1'), entry(2n, 'color-2'), entry(3n, 'color-2')];
  set.offer(new Change({ revision: 1n, entry: first, previous: undefined, deleted: false }));
  set.offer(new Change({ revision: 2n, entry: second, previous: first, deleted: false }));
  set.offer(new Change({ revision: 3n, entry: third, previous: second, deleted: false }));
  set.offer(new Change({ revision: 4n, entry: third.at(4n), previous: third, deleted: true }));
  t.ok(tests < 12, `${tests} tests`);
  t.same(await seen(all), ['ADDED a=1@1', 'MODIFIED a=1@2', 'MODIFIED a=1@3', 'DELETED a=1@4']);
  t.same(await seen(watchers[1] as Watcher), ['ADDED a=1@1', 'DELETED a=1@2']);
  t.same(await seen(watchers[2] as Watcher), ['ADDED a=1@2', 'MODIFIED a=1@3', 'DELETED a=1@4']);
  t.same(await seen(watchers[3] as Watcher), []);
  t.same(await seen(left), []);
});

void t.test('an unreadable object ends all watches that may select it', async (t) => {
  for (const value of [Buffer.from('x'), Buffer.from('{"metadata":{"name":}')]) {
    const set = new WatcherSet();
    const watchers = [watcherOf('red'), watcherOf('blue')];
    for (const watcher of watchers) set.add(watcher);
    const change = { revision: 2n, entry: entry(2n, '', value), previous: entry(1n, 'red'), deleted: false };
    set.offer(new Change(change));
    for (const watcher of watchers) await t.rejects(watcher.take(), /unable to transform key/);
    set.end(undefined);
    t.equal(set.size, 0);
  }
});
