import { Registry } from 'prom-client';
import t from 'tap';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { WorkQueueMetrics } from '#client/workqueue/metrics.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';

function newQueue(options: Partial<ConstructorParameters<typeof WorkQueue<string>>[0]> = {}) {
  const clock = new VirtualClock();
  return { clock, queue: new WorkQueue<string>({ clock, ...options }) };
}

t.test('an item added twice is handed out once, in order', async (t) => {
  const { queue } = newQueue();
  for (const item of ['a', 'b', 'a']) queue.add(item);
  t.equal(queue.length, 2);
  t.equal(queue.tryGet(), 'a');
  t.equal(queue.tryGet(), 'b');
  t.equal(queue.tryGet(), undefined);
});

t.test('an item added while in progress waits for its worker', async (t) => {
  const { queue } = newQueue();
  queue.add('a');
  t.equal(queue.tryGet(), 'a');
  queue.add('a');
  queue.add('a');
  t.equal(queue.tryGet(), undefined, 'no second worker holds it');
  queue.done('a');
  t.equal(queue.tryGet(), 'a');
  queue.done('a');
  t.equal(queue.tryGet(), undefined);
});

t.test('waiting workers get items in their order', async (t) => {
  const { queue } = newQueue();
  const got = [queue.get(), queue.get()];
  queue.add('a');
  queue.add('b');
  t.same(await Promise.all(got), ['a', 'b']);
  t.equal(queue.processingLength, 2);
});

t.test('delayed items become ready at their earliest time', async (t) => {
  const { clock, queue } = newQueue();
  queue.addAfter('late', 1000);
  queue.addAfter('early', 500);
  queue.addAfter('late', 700);
  queue.addAfter('late', 5000);
  queue.addAfter('now', 0);
  t.equal(queue.length, 1);
  await clock.advance(499);
  t.equal(queue.length, 1);
  await clock.advance(1);
  t.equal(queue.length, 2);
  await clock.advance(200);
  t.equal(queue.length, 3);
  t.equal(queue.delayedLength, 0);
  t.equal(clock.pendingTimers, 0, 'no timer runs while the queue is empty');
});

t.test('delayed items pop in order', async (t) => {
  const { clock, queue } = newQueue();
  const delays = Array.from({ length: 200 }, (_, i) => ((i * 7919) % 200) + 1);
  for (const ms of delays) queue.addAfter(String(ms).padStart(3, '0'), ms);
  await clock.advance(200);
  const got: string[] = [];
  for (let item = queue.tryGet(); item !== undefined; item = queue.tryGet()) got.push(item);
  t.same(got, [...got].sort());
  t.equal(got.length, 200);
});

t.test('failures back off exponentially per item until forgotten', async (t) => {
  const limiter = new ItemExponentialRateLimiter<string>(5, 1_000_000);
  t.same(
    Array.from({ length: 5 }, () => limiter.whenMs('a')),
    [5, 10, 20, 40, 80],
  );
  t.equal(limiter.whenMs('b'), 5);
  t.equal(limiter.requeues('a'), 5);
  limiter.forget('a');
  t.equal(limiter.whenMs('a'), 5);
  for (let i = 0; i < 2000; i += 1) limiter.whenMs('a');
  t.equal(limiter.whenMs('a'), 1_000_000, 'capped, also where the power overflows');
});

t.test('shutdown hands out ready items and ends waiting workers', async (t) => {
  const { queue } = newQueue();
  queue.add('a');
  queue.addAfter('b', 10);
  queue.shutDown();
  queue.add('c');
  t.equal(await queue.get(), 'a');
  t.equal(await queue.get(), undefined);
});

t.test('drain waits for items in progress, including those added again', async (t) => {
  const { queue } = newQueue();
  queue.add('a');
  queue.tryGet();
  queue.add('a');
  let drained = false;
  const draining = queue.shutDownWithDrain().then(() => {
    drained = true;
  });
  queue.done('a');
  await eventLoopTurn();
  t.equal(drained, false);
  t.equal(await queue.get(), 'a');
  queue.done('a');
  await draining;
  t.equal(drained, true);
});

t.test('random operations never lose an item or hand it out twice', async (t) => {
  const seed = 20_220_503;
  let state = seed;
  const random = (n: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % n;
  };
  t.comment(`seed ${seed}`);
  const { clock, queue } = newQueue();
  const held = new Set<string>();
  const pending = new Set<string>();
  for (let step = 0; step < 20_000; step += 1) {
    const item = `i${random(20)}`;
    switch (random(4)) {
      case 0:
        queue.add(item);
        pending.add(item);
        break;
      case 1:
        queue.addAfter(item, random(50));
        pending.add(item);
        break;
      case 2: {
        const got = queue.tryGet();
        if (got === undefined) break;
        if (held.has(got)) t.fail(`held twice: ${got}`);
        held.add(got);
        pending.delete(got);
        break;
      }
      default:
        if (held.delete(item)) queue.done(item);
    }
  }
  for (const item of held) queue.done(item);
  await clock.advance(100);
  const rest = new Set<string>();
  for (let item = queue.tryGet(); item !== undefined; item = queue.tryGet()) rest.add(item);
  for (const item of pending) t.ok(rest.has(item), `${item} still comes`);
});

t.test('metrics report depth, adds, retries and durations', async (t) => {
  const registry = new Registry();
  const clock = new VirtualClock();
  const metrics = new WorkQueueMetrics(registry);
  const queue = new WorkQueue<string>({ clock, name: 'deployment', metrics });
  queue.add('a');
  queue.add('b');
  queue.addAfter('c', 1000);
  await clock.advance(500);
  queue.tryGet();
  await clock.advance(250);
  const text = await registry.metrics();
  t.match(text, 'workqueue_depth{name="deployment"} 1');
  t.match(text, 'workqueue_adds_total{name="deployment"} 2');
  t.match(text, 'workqueue_retries_total{name="deployment"} 1');
  t.match(text, 'workqueue_queue_duration_seconds_sum{name="deployment"} 0.5');
  t.match(text, 'workqueue_unfinished_work_seconds{name="deployment"} 0.25');
  t.match(text, 'workqueue_longest_running_processor_seconds{name="deployment"} 0.25');
  queue.done('a');
  queue.tryGet();
  queue.done('b');
  queue.shutDown();
  t.notMatch(await registry.metrics(), 'workqueue_depth{name="deployment"}');
});

t.test('later metrics of a registry take over the gauges', async (t) => {
  const registry = new Registry();
  const clock = new VirtualClock();
  new WorkQueue<string>({ clock, name: 'old', metrics: new WorkQueueMetrics(registry) }).add('a');
  new WorkQueue<string>({ clock, name: 'new', metrics: new WorkQueueMetrics(registry) }).add('a');
  const text = await registry.metrics();
  t.match(text, 'workqueue_depth{name="new"} 1');
  t.notMatch(text, 'workqueue_depth{name="old"}');
});

t.test('queues with one name share a series', async (t) => {
  const registry = new Registry();
  const metrics = new WorkQueueMetrics(registry);
  const clock = new VirtualClock();
  const make = () => new WorkQueue<string>({ clock, name: 'certificate', metrics });
  const [one, two] = [make(), make()];
  one.add('a');
  for (const item of ['a', 'b']) two.add(item);
  t.match(await registry.metrics(), 'workqueue_depth{name="certificate"} 3');
  one.tryGet();
  one.done('a');
  one.shutDown();
  t.match(await registry.metrics(), 'workqueue_depth{name="certificate"} 2');
});
