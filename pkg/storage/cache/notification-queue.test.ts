import { setImmediate as endOfTurn } from 'node:timers/promises';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { NotificationQueue } from '#storage/cache/watcher-set.js';

/** A clock that goes on by hand. */
function handClock() {
  let nowMs = 0;
  const timers: { readonly fn: () => void; readonly ms: number }[] = [];
  const setTimer = (fn: () => void, ms: number) => {
    timers.push({ fn, ms });
    return { cancel: () => undefined };
  };
  return {
    clock: { ...realClock, monotonic: () => nowMs, setTimer },
    timers,
    pass(ms: number) {
      nowMs += ms;
    },
  };
}

void t.test('a few are notified at once, and once for all that happens together', async (t) => {
  const queue = new NotificationQueue(handClock().clock);
  const told: string[] = [];
  queue.add(() => told.push('one'));
  t.same(told, ['one']);
  queue.gather(() => {
    queue.add(() => told.push('two'));
    queue.gather(() => queue.add(() => told.push('three')));
    t.same(told, ['one']);
  });
  t.same(told, ['one', 'two', 'three']);
});

void t.test('many are notified in turns, in their order, and those who come again behind all others', async (t) => {
  const { clock } = handClock();
  const queue = new NotificationQueue(clock);
  const told: number[] = [];
  let again = 3;
  const notifyFirst = () => {
    told.push(0);
    if (again-- > 0) queue.add(notifyFirst);
  };
  queue.gather(() => {
    queue.add(notifyFirst);
    for (let n = 1; n < 200; n++) queue.add(() => told.push(n));
  });
  t.equal(told.length, 64, 'in the first turn');
  await endOfTurn();
  t.equal(told.length, 128);
  for (let turn = 0; turn < 5; turn++) await endOfTurn();
  t.same(told, [...Array.from({ length: 200 }, (_, n) => n), 0, 0, 0]);
});

void t.test('behind many there is a rest twice as long as they took, and not behind a few', async (t) => {
  const { clock, timers, pass } = handClock();
  const queue = new NotificationQueue(clock);
  let told = 0;
  const tell = () => void told++;
  const many = (count: number) =>
    queue.gather(() => {
      for (let n = 0; n < count; n++) queue.add(tell);
    });
  many(64);
  t.equal(told, 64);
  await endOfTurn();
  queue.add(tell);
  t.equal(told, 65, 'no rest behind a few');
  await endOfTurn();

  many(150);
  pass(1);
  await endOfTurn();
  pass(4);
  await endOfTurn();
  t.equal(told, 65 + 150);
  queue.add(tell);
  t.equal(told, 65 + 150, 'rests');
  t.same(
    timers.map(({ ms }) => ms),
    [8],
  );
  timers.pop()?.fn();
  t.equal(told, 65 + 150 + 1);
  await endOfTurn();

  many(100);
  await endOfTurn();
  t.equal(timers.length, 0, 'they took no time');
  many(100);
  await endOfTurn();
  pass(1000);
  many(100);
  await endOfTurn();
  t.ok(timers.every(({ ms }) => ms <= 20));
});
