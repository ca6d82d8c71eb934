import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { CacheEntry, entryContext } from '#storage/cache/cache-entry.js';
import { show, thing } from '#storage/cache/cache-fixture.js';
import { Change } from '#storage/cache/event-ring.js';
import { Watcher, type WatcherOptions, WatchOverflowError } from '#storage/cache/watcher.js';
import { NotificationQueue, WatcherSet } from '#storage/cache/watcher-set.js';
import type { Entry } from '#storage/resource-storage.js';

const bufferSize = 100;

function setUp() {
  const set = new WatcherSet();
  const notifications = new NotificationQueue(realClock);
  const watch = (options: Partial<WatcherOptions> = {}) => {
    const common = { scope: '/registry/things/', match: undefined, selection: '', seen: 0n, bufferSize };
    const watcher = new Watcher({
      ...common,
      bookmarks: true,
      notify: (wake: () => void) => notifications.add(wake),
      ...options,
    });
    set.add(watcher);
    return watcher;
  };
  const write = (revision: bigint, value = thing('a', Number(revision))) => {
    const entry = new CacheEntry({ key: '/registry/things/ns/a', value, modRevision: revision }, entryContext());
    set.offer(new Change({ revision, entry, previous: undefined, deleted: false }));
  };
  return { set, watch, write };
}

const shown = (watcher: Watcher) => {
  const batch = watcher.poll();
  return Array.isArray(batch) ? batch.map(show) : batch;
};

void t.test('watchers of a selection read the same batches, each at its own pace', async (t) => {
  const { watch, write } = setUp();
  const [fast, slow] = [watch(), watch()];
  write(1n);
  t.equal(fast.poll(), slow.poll(), 'one and the same');
  write(2n);
  t.equal((fast.poll() as readonly unknown[]).length, 1);
  const late = watch({ seen: 2n });
  write(3n);
  t.same(shown(late), ['ADDED a=3@3']);
  t.same(shown(slow), ['ADDED a=2@2', 'ADDED a=3@3']);
  t.same(shown(fast), ['ADDED a=3@3']);
  t.equal(fast.poll(), undefined);
});

void t.test('a bookmark follows earlier events, only for its watcher', async (t) => {
  const { watch, write } = setUp();
  const [one, other] = [watch(), watch()];
  write(1n);
  one.bookmark(5n);
  write(6n);
  other.bookmark(6n);
  t.same(shown(one), ['ADDED a=1@1', 'BOOKMARK@5', 'ADDED a=6@6']);
  t.same(shown(other), ['ADDED a=1@1', 'ADDED a=6@6'], 'no new events');
  t.equal(one.sentRevision, 6n);
  other.bookmark(7n);
  t.same(shown(other), ['BOOKMARK@7']);
});

void t.test('a slow watcher ends, and keeps no events for others', async (t) => {
  const { set, watch, write } = setUp();
  const [fast, slow] = [watch(), watch()];
  for (let revision = 1; revision <= 3 * bufferSize; revision++) {
    write(BigInt(revision));
    t.equal((fast.poll() as readonly unknown[]).length, 1);
  }
  t.throws(() => slow.poll(), WatchOverflowError);
  set.delete(slow);
  write(1000n);
  t.equal((fast.poll() as readonly unknown[]).length, 1);
});

void t.test('an end follows queued events; later ones are not delivered', async (t) => {
  const { set, watch, write } = setUp();
  const [ending, other, left] = [watch(), watch(), watch()];
  write(1n);
  ending.end();
  set.delete(left);
  write(2n);
  t.same(shown(ending), ['ADDED a=1@1']);
  t.equal(ending.poll(), 'ended');
  t.equal(left.poll(), 'ended');
  t.same(shown(other), ['ADDED a=1@1', 'ADDED a=2@2']);
});

void t.test('a change is tested once per selection', async (t) => {
  const { watch, write } = setUp();
  let tests = 0;
  const match = (_entry: Entry) => {
    tests++;
    return true;
  };
  const same = Array.from({ length: 10 }, () => watch({ match, selection: 'all' }));
  const alone = watch({ match, selection: undefined });
  write(1n);
  t.equal(tests, 2);
  for (const watcher of [...same, alone]) t.same(shown(watcher), ['ADDED a=1@1']);
});
