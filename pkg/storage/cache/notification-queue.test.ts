import { setImmediate as endOfTurn } from 'node:timers/promises';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { NotificationQueue } from '#storage/cache/watcher-set.js';

/** A clock under the test's control. */
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

void t.test('few watchers are notified immediately, once per gathering', async (t) => {
  const queue = new NotificationQueue(handClock().clock);
  const notified: string[] = [];
  queue.add(() => notified.push('one'));
  t.same(notified, ['one']);
  queue.gather(() => {
    queue.add(() => notified.push('two'));
    queue.gather(() => queue.add(() => notified.push('three')));
    t.same(notified, ['one']);
  });
  t.same(notified, ['one', 'two', 'three']);
});

void t.test('many watchers are notified in turns, in order, and repeated ones last', async (t) => {
  const { clock } = handClock();
  const queue = new NotificationQueue(clock);
  const notified: number[] = [];
  let again = 3;
  const notifyFirst = () => {
    notified.push(0);
    if (again-- > 0) queue.add(notifyFirst);
  };
  queue.gather(() => {
    queue.add(notifyFirst);
    for (let n = 1; n < 200; n++) queue.add(() => notified.push(n));
  });
  t.equal(notified.length, 64, 'in the first turn');
  await endOfTurn();
  t.equal(notified.length, 128);
  for (let turn = 0; turn < 5; turn++) await endOfTurn();
  t.same(notified, [...Array.from({ length: 200 }, (_, n) => n), 0, 0, 0]);
});

void t.test('a pause follows rounds of several turns, twice as long as the round', async (t) => {
  const { clock, timers, pass } = handClock();
  const queue = new NotificationQueue(clock);
  let notified = 0;
  const tell = () => void notified++;
  const many = (count: number) =>
    queue.gather(() => {
      for (let n = 0; n < count; n++) queue.add(tell);
    });
  many(64);
  t.equal(notified, 64);
  await endOfTurn();
  queue.add(tell);
  t.equal(notified, 65, 'no pause after few watchers');
  await endOfTurn();

  many(150);
  pass(1);
  await endOfTurn();
  pass(4);
  await endOfTurn();
  t.equal(notified, 65 + 150);
  queue.add(tell);
  t.equal(notified, 65 + 150, 'rests');
  t.same(
    timers.map(({ ms }) => ms),
    [8],
  );
  timers.pop()?.fn();
  t.equal(notified, 65 + 150 + 1);
  await endOfTurn();

  many(100);
  await endOfTurn();
  t.equal(timers.length, 0, 'no pause after a short round');
  many(100);
  await endOfTurn();
  pass(1000);
  many(100);
  await endOfTurn();
  t.ok(timers.every(({ ms }) => ms <= 20));
});
