import t from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { LeasePool } from '#storage/etcd/lease-pool.js';

void t.test('leases are shared for a time and a number of keys', async (t) => {
  let nowMs = 0;
  const clock: Clock = { ...realClock, monotonic: () => nowMs };
  const granted: number[] = [];
  const retired: number[] = [];
  const pool = new LeasePool({
    clock,
    grant: async (ttlSeconds) => BigInt(granted.push(ttlSeconds)),
    reuseMaxSeconds: 60,
    retired: (keys) => retired.push(keys),
  });
  t.same([await pool.take(3600), await pool.take(3600)], [1n, 1n]);
  t.same(granted, [3660], 'long enough for the last key that it takes');
  nowMs = 59_000;
  t.equal(await pool.take(3600), 1n);
  nowMs = 61_000;
  t.equal(await pool.take(3600), 2n);
  t.same(retired, [3]);
  for (let i = 1; i < 1000; i++) await pool.take(3600);
  t.equal(await pool.take(3600), 3n, 'a lease takes at most a thousand keys');
  t.same(retired, [3, 1000]);
  t.equal(await pool.take(100), 4n, 'another time to live has its own');
  t.same(granted.slice(3), [105], 'a short one is shared for a part of its time');
  t.equal(await pool.take(10), 5n);
  t.equal(await pool.take(10), 6n, 'a very short one is not shared');
});

void t.test('a failed grant is repeated', async (t) => {
  let fails = true;
  const grant = async () => {
    if (fails) throw new Error('not now');
    return 7n;
  };
  const pool = new LeasePool({ clock: realClock, grant, reuseMaxSeconds: 60, retired: () => {} });
  await t.rejects(pool.take(3600), { message: 'not now' });
  fails = false;
  t.equal(await pool.take(3600), 7n);
});
