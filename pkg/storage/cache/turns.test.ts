import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { yielding } from '#storage/cache/turns.js';

t.test('work of many takes no longer in one turn than work of one', async (t) => {
  let nowMs = 0;
  const clock = { monotonic: () => nowMs };
  const sliceMs = 0.5;
  const order: number[] = [];
  const work = async (worker: number) => {
    const yieldTurn = yielding(clock);
    for (let slice = 0; slice < 40; slice++) {
      nowMs += sliceMs;
      await yieldTurn();
    }
    order.push(worker);
  };

  let over = false;
  const turns: number[] = [];
  const meter = async () => {
    for (let before = nowMs; !over; before = nowMs) {
      await nextTurn();
      turns.push(nowMs - before);
    }
  };
  const metered = meter();
  await Promise.all([0, 1, 2, 3].map(work));
  over = true;
  await metered;
  t.ok(Math.max(...turns) <= 6, `the longest turn took ${Math.max(...turns)} ms`);
  t.ok(turns.length >= 4 * 40 * (sliceMs / 6));
  t.same(order, [0, 1, 2, 3], 'they come in line');
});

t.test('short work does not wait', (t) => {
  const yieldTurn = yielding({ monotonic: () => 0 });
  for (let i = 0; i < 100; i++) t.equal(yieldTurn(), undefined);
  t.end();
});
