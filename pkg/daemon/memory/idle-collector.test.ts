import t from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { collectWhenIdle } from '#daemon/memory/idle-collector.js';

t.test('garbage is collected once after each busy period', async (t) => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let usedMs = 0;
  let collected = 0;
  const cpuUsage = () => ({ user: usedMs * 1000, system: 0 });
  const work = collectWhenIdle({ clock, cpuUsage, collect: () => collected++ }, stop.signal);
  const period = async (busyMs: number) => {
    usedMs += busyMs;
    await clock.advance(5000);
    return collected;
  };
  t.equal(await period(3000), 0, 'starting is work');
  t.equal(await period(1000), 0);
  t.equal(await period(10), 0, 'a pause');
  t.equal(await period(500), 0, 'neither busy nor idle');
  t.equal(await period(0), 0, 'another pause');
  t.equal(await period(10), 1, 'idle');
  t.equal(await period(0), 1, 'no busy period since the last collection');
  t.equal(await period(500), 1);
  t.equal(await period(0), 1);
  t.equal(await period(0), 1);
  t.equal(await period(2000), 1);
  t.equal(await period(100), 1);
  t.equal(await period(100), 2);
  stop.abort();
  await work;
});

t.test('garbage is collected when the heap has grown without a busy period', async (t) => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let heapMB = 60;
  let collected = 0;
  const options = { clock, cpuUsage: () => ({ user: 0, system: 0 }), heapBytes: () => heapMB * 1024 * 1024 };
  const work = collectWhenIdle({ ...options, collect: () => collected++ }, stop.signal);
  const periods = async (...sizes: number[]) => {
    for (const size of sizes) {
      heapMB = size;
      await clock.advance(5000);
    }
    return collected;
  };
  t.equal(await periods(60, 60), 1, 'after the start');
  t.equal(await periods(30, 35, 37), 1, 'it grows by less');
  t.equal(await periods(38), 2, 'it has grown enough');
  t.equal(await periods(39, 39, 39), 2, 'its size after a collection is where growth begins');
  t.equal(await periods(46, 47), 3, 'it has grown again');
  stop.abort();
  await work;
});
