import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { DeadlineTimer } from '#apimachinery/async/deadline-timer.js';
import { type Clock, realClock } from '#apimachinery/clock.js';

void t.test('one timer calls each entry when it is due', async (t) => {
  let now = 0;
  let timer: { at: number; fn: () => void } | undefined;
  let timers = 0;
  const clock: Clock = {
    ...realClock,
    monotonic: () => now,
    setTimer(fn, ms) {
      timers++;
      const armed = { at: now + ms, fn };
      timer = armed;
      const cancel = () => {
        if (timer === armed) timer = undefined;
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
  const deadlines = new DeadlineTimer(clock);
  const called: string[] = [];
  const one = (name: string, dueMs: number) => ({ dueMs, place: -1, expire: () => called.push(name) });
  const gone = one('gone', 10);
  deadlines.add(gone);
  deadlines.add(one('later', 30));
  deadlines.add(one('same', 30));
  deadlines.delete(gone);
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

void t.test('finished entries are not promoted to the old generation', (t) => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const oldBytes = () =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;
  const deadlines = new DeadlineTimer({ ...realClock, setTimer: () => ({ cancel: () => undefined }) });
  const call = () => ({ dueMs: 1, place: -1, expire: () => undefined, held: Array.from({ length: 1000 }, () => ({})) });
  const under = Array.from({ length: 16 }, call);
  for (const one of under) deadlines.add(one);
  // Promotes all live objects to the old generation.
  gc();
  const before = oldBytes();
  for (let i = 0; i < 5000; i++) {
    deadlines.delete(under.shift() as ReturnType<typeof call>);
    const one = call();
    deadlines.add(one);
    under.push(one);
  }
  const grown = oldBytes() - before;
  t.ok(grown < 8e6, `${grown} bytes of about 100 million`);
  deadlines.close();
  t.end();
});
