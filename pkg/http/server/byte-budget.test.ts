import t from 'tap';
import { LazyAbort } from '#apimachinery/cancellation.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { ByteBudget } from '#http/server/byte-budget.js';

const options = { bytes: 100, maxWaiting: 2, maxWaitMs: 1000 };

t.test('responses share the budget and wait for it in order', async (t) => {
  const budget = new ByteBudget({ ...options, clock: new VirtualClock() });
  const order: string[] = [];
  const take = (name: string, bytes: number) =>
    budget.take(bytes, new LazyAbort()).then((give) => {
      order.push(name);
      return give;
    });
  const first = await take('first', 60);
  const second = await take('second', 40);
  t.equal(budget.used, 100);
  const big = take('big', 90);
  const small = take('small', 1);
  await eventLoopTurn();
  t.same(order, ['first', 'second'], 'a small response does not overtake a large one');
  t.equal(budget.waiting, 2);
  first();
  await eventLoopTurn();
  t.same(order, ['first', 'second']);
  second();
  (await big)();
  (await small)();
  t.same(order, ['first', 'second', 'big', 'small']);
  t.equal(budget.used, 0);
  const all = await take('more than there is', 1_000_000);
  t.equal(budget.used, 100, 'takes the whole budget');
  all();
});

t.test('a quarter is for responses that could do with less', async (t) => {
  const budget = new ByteBudget({ ...options, clock: new VirtualClock() });
  t.ok(budget.isAmpleFor(25));
  t.notOk(budget.isAmpleFor(26));
  const give = await budget.take(20, new LazyAbort());
  t.ok(budget.isAmpleFor(5));
  t.notOk(budget.isAmpleFor(6));
  give();
  t.ok(budget.isAmpleFor(25));
});

t.test('the queue is limited', async (t) => {
  const clock = new VirtualClock();
  let refused = 0;
  const budget = new ByteBudget({ ...options, clock, refused: () => refused++ });
  const give = await budget.take(100, new LazyAbort());
  const gone = new LazyAbort();
  const patient = budget.take(100, new LazyAbort());
  const leaving = budget.take(50, gone);
  const busy = {
    name: 'StatusError',
    status: { code: 429, reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } },
  };
  await t.rejects(budget.take(1, new LazyAbort()), busy, 'the queue is full');
  const reason = new Error('gone');
  gone.abort(reason);
  await t.rejects(leaving, reason);
  t.equal(budget.waiting, 1);
  const late = t.rejects(patient, busy, 'waited too long');
  await eventLoopTurn();
  await clock.advance(options.maxWaitMs);
  await late;
  t.same([budget.waiting, refused, clock.pendingTimers], [0, 2, 0]);
  give();
  t.equal(budget.used, 0);
});

t.test('a budget may change while responses wait', async (t) => {
  const budget = new ByteBudget({ ...options, clock: new VirtualClock() });
  const give = await budget.take(80, new LazyAbort());
  const second = budget.take(90, new LazyAbort());
  await eventLoopTurn();
  budget.resize(200);
  (await second)();
  t.equal(budget.used, 80, 'more memory serves a response that waits');
  const third = budget.take(150, new LazyAbort());
  budget.resize(50);
  await eventLoopTurn();
  t.equal(budget.waiting, 1, 'less memory keeps it waiting');
  give();
  const last = await third;
  t.equal(budget.used, 150, 'until it is alone');
  last();
  t.equal(budget.used, 0, 'all is returned');
});
