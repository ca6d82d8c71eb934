import t from 'tap';
import { type Clock, pauseClock, processClock, type Timer, upkeepClock, watchdogClock } from '#apimachinery/clock.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';

const startMs = Date.UTC(2024, 0, 1);

/** The process's time of a test, moved by hand too. */
function processTime(): Clock & { pass(ms: number): void } {
  const clock = new ManualClock({ startMs });
  let nowMs = 0;
  let timers: { readonly dueMs: number; readonly fn: () => void }[] = [];
  return {
    now: () => startMs + nowMs,
    monotonic: () => nowMs,
    setTimer(fn, ms): Timer {
      const timer = { dueMs: nowMs + ms, fn };
      timers.push(timer);
      return {
        cancel: () => {
          timers = timers.filter((each) => each !== timer);
        },
      };
    },
    sleep: (ms, signal) => clock.sleep(ms, signal),
    pass(ms) {
      nowMs += ms;
      for (const timer of timers.filter(({ dueMs }) => dueMs <= nowMs)) {
        timers = timers.filter((each) => each !== timer);
        timer.fn();
      }
    },
  };
}

function held() {
  const process = processTime();
  const clock = new ManualClock({ startMs, process });
  clock.hold();
  const fired: string[] = [];
  const note = (name: string) => () => void fired.push(`${name} at ${clock.monotonic()}`);
  return { process, clock, fired, note };
}

const nothing = async () => undefined;

t.test('timers fire in the order of their times, and consequences at their own', async (t) => {
  const clock = new ManualClock({ startMs });
  const fired: string[] = [];
  clock.setTimer(() => fired.push('b'), 20);
  clock.setTimer(() => {
    fired.push('a');
    clock.setTimer(() => fired.push('consequence'), 5);
  }, 10);
  clock.setTimer(() => fired.push('same time, set later'), 20);
  clock.setTimer(() => fired.push('cancelled'), 15).cancel();
  clock.setTimer(() => fired.push('too late'), 31);
  t.equal(await clock.advance(30, nothing), 4, 'stops');
  t.same(fired, ['a', 'consequence', 'b', 'same time, set later']);
  t.equal(clock.now(), startMs + 30);
  t.equal(clock.nextStopMs, 1);
});

t.test('work of one timer is over before the next fires', async (t) => {
  const clock = new ManualClock({ startMs });
  const steps: string[] = [];
  for (const name of ['a', 'b']) clock.setTimer(() => steps.push(name), 10);
  await clock.advance(10, async () => void steps.push('work'));
  t.same(steps, ['work', 'a', 'work', 'b', 'work', 'work']);
});

t.test('the clock runs with the process until it is held, at a whole second', async (t) => {
  const process = processTime();
  const clock = new ManualClock({ startMs, process });
  const fired: number[] = [];
  clock.setTimer(() => fired.push(clock.monotonic()), 100);
  await t.rejects(clock.advance(1, nothing), /runs by itself/);
  process.pass(1300);
  t.same(fired, [1300]);
  clock.hold();
  process.pass(500);
  t.equal(clock.now(), startMs + 2000);
  t.equal(clock.monotonic(), 1300);
  clock.setTimer(() => fired.push(clock.monotonic()), 10);
  clock.resume();
  process.pass(10);
  t.same(fired, [1300, 1310], 'it goes on from there');
});

t.test('upkeep is repeated once per leap, before everything else', async (t) => {
  const { clock, fired, note } = held();
  const heartbeat = () => {
    note('heartbeat')();
    upkeepClock(clock).setTimer(heartbeat, 10);
  };
  upkeepClock(clock).setTimer(heartbeat, 10);
  clock.setTimer(note('deadline'), 1000);
  await clock.advance(5000, nothing);
  t.same(fired, ['heartbeat at 1000', 'deadline at 1000', 'heartbeat at 5000']);
});

t.test('a leap passes watchdogs while heartbeats continue', async (t) => {
  const { clock, fired, note } = held();
  let isAlive = true;
  clock.watchHeartbeats(() => isAlive);
  let watchdog = watchdogClock(clock).setTimer(note('missed'), 40);
  const beat = () => {
    if (!isAlive) return;
    watchdog.cancel();
    watchdog = watchdogClock(clock).setTimer(note('missed'), 40);
    upkeepClock(clock).setTimer(beat, 10);
  };
  upkeepClock(clock).setTimer(beat, 10);
  await clock.advance(100_000, nothing);
  t.same(fired, []);
  isAlive = false;
  await clock.advance(100, nothing);
  t.same(fired, ['missed at 100040'], 'without heartbeats it stops the clock at its time');
});

t.test('pauses pass with the process, or at once on demand, and move no clock', (t) => {
  const { process, clock, fired, note } = held();
  pauseClock(clock).setTimer(note('second'), 200);
  pauseClock(clock).setTimer(note('first'), 100);
  pauseClock(clock).setTimer(note('cancelled'), 10).cancel();
  pauseClock(clock).setTimer(note('upkeep'), 1001);
  clock.setTimer(note('now'), 0);
  t.equal(clock.pendingPauses, 3, 'longer ones are upkeep, and what is due now needs no move');
  process.pass(0);
  process.pass(100);
  t.same(fired, ['now at 0', 'first at 0']);
  t.equal(clock.endPause(), true);
  t.equal(clock.endPause(), false);
  process.pass(1000);
  t.same(fired, ['now at 0', 'first at 0', 'second at 0']);
  t.end();
});

t.test('where all time is one, the views are the clock itself', (t) => {
  const clock = new ManualClock({ startMs });
  for (const view of [pauseClock, processClock, upkeepClock, watchdogClock]) t.equal(view(clock), clock, view.name);
  t.end();
});

t.test('random timers fire as in a sorted list', async (t) => {
  const seed = 40;
  t.comment(`seed ${seed}`);
  let state = seed;
  const random = (n: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % n;
  };
  for (let round = 0; round < 50; round += 1) {
    const clock = new ManualClock({ startMs });
    const fired: number[] = [];
    const expected: { readonly dueMs: number; readonly id: number }[] = [];
    for (let id = 0; id < 40; id += 1) {
      const dueMs = 1 + random(100);
      const timer = clock.setTimer(() => fired.push(id), dueMs);
      if (random(4) === 0) timer.cancel();
      else if (dueMs <= 80) expected.push({ dueMs, id });
    }
    for (let left = 80; left > 0; ) {
      const ms = Math.min(left, 1 + random(30));
      await clock.advance(ms, nothing);
      left -= ms;
    }
    expected.sort((a, b) => a.dueMs - b.dueMs || a.id - b.id);
    t.same(
      fired,
      expected.map(({ id }) => id),
      `round ${round}`,
    );
  }
});
