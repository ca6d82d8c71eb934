import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { CacheEntry, entryContext } from '#storage/cache/cache-entry.js';
import { Change, EventRing } from '#storage/cache/event-ring.js';
import { encodeStored } from '#storage/layout.js';

function change(n: number, bytes: number): Change {
  const value = encodeStored({ kind: 'ConfigMap', metadata: { name: 'c' }, data: 'x'.repeat(bytes) } as object);
  const entry = new CacheEntry(
    { key: '/registry/configmaps/default/c', value, modRevision: BigInt(n) },
    entryContext(),
  );
  return new Change({ revision: BigInt(n), entry, previous: undefined, deleted: false });
}

const revisions = (ring: EventRing) => ring.after(ring.floor).map(({ revision }) => Number(revision));

t.test('large objects leave room for fewer changes', async (t) => {
  const ring = new EventRing({ clock: realClock, capacity: 5, maxAgeMs: 60_000, maxBytes: 10_000 });
  ring.reset(0n);
  for (let n = 1; n <= 7; n++) ring.add(change(n, 10));
  t.same(revisions(ring), [3, 4, 5, 6, 7], 'by number');
  for (let n = 8; n <= 11; n++) ring.add(change(n, 4000));
  t.same(revisions(ring), [10, 11], 'by size');
  t.equal(ring.floor, 9n);
  ring.add(change(12, 20_000));
  t.same(revisions(ring), [12], 'the newest is kept whatever its size');
  ring.add(change(13, 10));
  t.same(revisions(ring), [13]);
  ring.prepend([change(1, 10), change(2, 9000), change(3, 500)], 0n);
  t.same(revisions(ring), [1, 2, 3, 13]);
  ring.prepend([change(0, 5000)], 0n);
  t.same(revisions(ring), [1, 2, 3, 13], 'older ones only as far as there is room');
});

t.test('changes of the wall clock do not age changes', async (t) => {
  let setMs = 0;
  const clock = { ...realClock, now: () => realClock.now() + setMs };
  const ring = new EventRing({ clock, capacity: 5, maxAgeMs: 3_600_000, maxBytes: 10_000 });
  ring.reset(0n);
  ring.add(change(1, 10));
  setMs = 86_400_000;
  ring.add(change(2, 10));
  t.same(revisions(ring), [1, 2]);
});
