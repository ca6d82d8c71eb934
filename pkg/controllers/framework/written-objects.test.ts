import t from 'tap';
import type { ApiObject } from '#client/client.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { type VersionedCache, WrittenObjects, writtenTimeoutMs } from '#controllers/framework/written-objects.js';

/** A cache with the given version and objects. */
class Cache implements VersionedCache {
  lastVersion = '';
  readonly objects = new Map<string, ApiObject>();

  get(key: string): ApiObject | undefined {
    return this.objects.get(key);
  }
}

const object = (resourceVersion: string, uid = 'u', more: object = {}): ApiObject => ({
  metadata: { name: 'a', namespace: 'n', uid, resourceVersion, ...more },
});

interface Row {
  readonly name: string;
  readonly steps: (written: WrittenObjects, pods: Cache, sets: Cache) => void;
  readonly fresh: boolean;
}

const rows: Row[] = [
  { name: 'no writes', steps: () => {}, fresh: true },
  { name: 'a cache before its first list', steps: (w, pods) => w.wrote('k', pods, object('9')), fresh: false },
  {
    name: 'an older cache, with versions compared as numbers',
    steps: (w, pods) => {
      pods.lastVersion = '9';
      w.wrote('k', pods, object('10'));
    },
    fresh: false,
  },
  {
    name: 'a cache at the written version',
    steps: (w, pods) => {
      w.wrote('k', pods, object('10'));
      pods.lastVersion = '10';
    },
    fresh: true,
  },
  {
    name: 'the highest version counts, in any order of the writes',
    steps: (w, pods) => {
      w.wrote('k', pods, object('12'));
      w.wrote('k', pods, object('11'));
      pods.lastVersion = '11';
    },
    fresh: false,
  },
  {
    name: 'one of two caches is older',
    steps: (w, pods, sets) => {
      w.wrote('k', pods, object('10'));
      w.wrote('k', sets, object('11'));
      pods.lastVersion = '11';
      sets.lastVersion = '10';
    },
    fresh: false,
  },
  {
    name: "another key's write",
    steps: (w, pods) => w.wrote('other', pods, object('10')),
    fresh: true,
  },
  {
    name: 'a deleted object that the cache still shows',
    steps: (w, pods) => {
      pods.lastVersion = '99';
      pods.objects.set('n/a', object('5'));
      w.deleted('k', pods, object('5'));
    },
    fresh: false,
  },
  {
    name: 'a deleted object that the cache shows in deletion',
    steps: (w, pods) => {
      pods.objects.set('n/a', object('6', 'u', { deletionTimestamp: '2022-05-03T00:00:00Z' }));
      w.deleted('k', pods, object('5'));
    },
    fresh: true,
  },
  {
    name: 'a deleted object whose name has another UID now',
    steps: (w, pods) => {
      pods.objects.set('n/a', object('7', 'v'));
      w.deleted('k', pods, object('5'));
    },
    fresh: true,
  },
  {
    name: 'a deleted object that the cache no longer shows',
    steps: (w, pods) => w.deleted('k', pods, object('5')),
    fresh: true,
  },
];

t.test('writes that caches show', (t) => {
  for (const { name, steps, fresh } of rows) {
    const written = new WrittenObjects(new VirtualClock());
    steps(written, new Cache(), new Cache());
    t.equal(written.waitMs('k') === 0, fresh, name);
  }
  t.end();
});

t.test('an unclear write waits for a read from the server', async (t) => {
  const written = new WrittenObjects(new VirtualClock());
  const pods = new Cache();
  pods.lastVersion = '5';
  const answers: (() => Promise<ApiObject[]>)[] = [
    () => Promise.reject(new Error('unreachable')),
    () => Promise.resolve([object('6'), object('8')]),
  ];
  let reads = 0;
  written.unclear('k', pods, async () => answers[reads++]?.() ?? []);
  t.equal(reads, 0);
  for (const [wait, times] of [
    [10, 1],
    [20, 2],
  ]) {
    t.equal(written.waitMs('k'), wait);
    t.ok(written.waitMs('other') === 0);
    t.equal(reads, times);
    await new Promise(setImmediate);
  }
  pods.lastVersion = '7';
  t.not(written.waitMs('k'), 0, 'and for the newest version that was read');
  pods.lastVersion = '8';
  t.equal(written.waitMs('k'), 0);
  written.unclear('k', pods, async () => []);
  t.not(written.waitMs('k'), 0);
  await new Promise(setImmediate);
  t.equal(written.waitMs('k'), 0, 'the write did not happen');
  t.equal(reads, 2);
});

t.test('a write that is never shown times out, counted from the last write', async (t) => {
  const clock = new VirtualClock();
  const written = new WrittenObjects(clock);
  const pods = new Cache();
  written.wrote('k', pods, object('10'));
  await clock.advance(1000);
  written.wrote('k', pods, object('11'));
  const pauses = Array.from({ length: 9 }, () => written.waitMs('k'));
  t.same(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000], 'polled with growing pauses');
  await clock.advance(writtenTimeoutMs - 1);
  t.equal(written.waitMs('k'), 1);
  await clock.advance(1);
  t.equal(written.waitMs('k'), 0);
  t.equal(written.waitMs('k'), 0, 'the timeout is final');
});
