import t from 'tap';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { Deadlines } from '#apimachinery/deadlines.js';

void t.test('each is called when it is due, by one timer', async (t) => {
  let now = 0;
  let timer: { at: number; fn: () => void } | undefined;
  let timers = 0;
  const clock: Clock = {
    ...realClock,
    monotonic: () => now,
    setTimer(fn, ms) {
      timers++;
      const made = { at: now + ms, fn };
      timer = made;
      const cancel = () => {
        if (timer === made) timer = undefined;
      };
      return { cancel };
    },
  };
  const advance = (to: number) => {
    while (timer !== undefined && timer.at <= to) {
      now = timer.at;
      const { fn } = timer;
      timer = undefined;
      fn();
    }
    now = to;
  };
  const deadlines = new Deadlines(clock);
  const called: string[] = [];
  const one = (name: string, dueMs: number) => ({ dueMs, expire: () => called.push(name) });
  const gone = one('gone', 10);
  deadlines.add(gone);
  deadlines.add(one('later', 30));
  deadlines.add(one('same', 30));
  deadlines.delete(gone);
  t.equal(timers, 1);
  advance(10);
  t.same(called, []);
  deadlines.add(one('sooner', 15));
  advance(20);
  t.same(called, ['sooner']);
  advance(40);
  t.same(called, ['sooner', 'later', 'same']);
  t.equal(timer, undefined, 'nothing is left to wait for');
  deadlines.add(one('never', 50));
  deadlines.close();
  advance(60);
  t.equal(called.length, 3);
});
