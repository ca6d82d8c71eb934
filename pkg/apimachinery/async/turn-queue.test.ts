import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { TurnQueue } from '#apimachinery/async/turn-queue.js';

t.test('many tasks take no longer per turn than one', async (t) => {
  let nowMs = 0;
  const turnQueue = new TurnQueue({ clock: { monotonic: () => nowMs }, defer: setImmediate });
  const sliceMs = 0.5;
  const order: number[] = [];
  const work = async (worker: number) => {
    for (let slice = 0; slice < 40; slice++) {
      nowMs += sliceMs;
      await turnQueue.pause();
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
  const turns = new TurnQueue({ clock: { monotonic: () => 0 }, defer: setImmediate });
  for (let i = 0; i < 100; i++) t.equal(turns.pause(), undefined);
  t.end();
});

/** Turns that the test runs explicitly. */
function byHand(nowMs: () => number) {
  const deferred: (() => void)[] = [];
  const turns = new TurnQueue({ clock: { monotonic: nowMs }, defer: (fn) => deferred.push(fn) });
  const turn = () => {
    for (const fn of deferred.splice(0)) fn();
  };
  return { turns, turn };
}

t.test('two queues are independent', async (t) => {
  let nowMs = 0;
  const busy = byHand(() => nowMs);
  const still = byHand(() => 0);
  t.equal(busy.turns.pause(), undefined);
  t.equal(still.turns.pause(), undefined);
  nowMs = 10;
  const paused = busy.turns.pause();
  t.ok(paused instanceof Promise);
  t.equal(still.turns.pause(), undefined, 'no time has passed there');
  let next = 0;
  for (const wait of [still.turns.next(), still.turns.next()]) void wait.then(() => next++);
  busy.turn();
  await paused;
  t.equal(next, 0);
  still.turn();
  await nextTurn();
  t.equal(next, 1);
  still.turn();
  await nextTurn();
  t.equal(next, 2);
});

t.test('bulk does not delay other work', async (t) => {
  let nowMs = 0;
  const { turns, turn } = byHand(() => nowMs);
  const order: string[] = [];
  t.equal(turns.pause(), undefined);
  nowMs = 10;
  for (let i = 0; i < 50; i++) void turns.bulk.pause()?.then(() => order.push('bulk'));
  void turns.pause()?.then(() => order.push('write'));
  t.equal(turns.waiting, 51, 'tasks of both lines wait');
  turn();
  await nextTurn();
  t.same(order, ['write', 'bulk'], 'both go on in the first turn');
  void turns.next().then(() => order.push('write'));
  turn();
  await nextTurn();
  t.same(order, ['write', 'bulk', 'write', 'bulk']);
  for (let i = 0; i < 48; i++) turn();
  await nextTurn();
  t.equal(order.length, 52, 'all go on');
  t.equal(turns.waiting, 0, 'none waits');
});
