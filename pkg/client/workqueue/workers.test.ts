import t from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { requeueAfter, terminal } from '#client/workqueue/outcome.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import { runWorkers } from '#client/workqueue/workers.js';
import { silentLogger } from '#daemon/log/logger.js';

t.test('outcomes become queue calls', async (t) => {
  const clock = new VirtualClock();
  const queue = new WorkQueue<string>({ clock });
  const stop = new AbortController();
  const passes: string[] = [];
  let failures = 2;
  const finished = runWorkers<string>(
    {
      queue,
      concurrency: 2,
      log: silentLogger,
      async reconcile(item) {
        passes.push(`${item}@${clock.monotonic()}`);
        if (item === 'again' && passes.filter((pass) => pass.startsWith('again')).length < 3) return requeueAfter(1000);
        if (item === 'broken') return terminal(new Error('hopeless'));
        if (item === 'flaky') {
          failures -= 1;
          if (failures >= 0) throw new Error('not yet');
        }
        return { kind: 'done' };
      },
    },
    stop.signal,
  );
  for (const item of ['again', 'broken', 'flaky']) queue.add(item);
  await clock.advance(5000);
  t.same(passes, ['again@0', 'broken@0', 'flaky@0', 'flaky@5', 'flaky@15', 'again@1000', 'again@2000']);
  t.equal(queue.requeues('flaky'), 0, 'success forgets the failures');
  t.equal(clock.pendingTimers, 0);
  stop.abort();
  await finished;
});

t.test('concurrency is limited, and stopping waits for items in progress', async (t) => {
  const clock = new VirtualClock();
  const queue = new WorkQueue<number>({ clock });
  const stop = new AbortController();
  let running = 0;
  let most = 0;
  let finishedItems = 0;
  const finished = runWorkers<number>(
    {
      queue,
      concurrency: 3,
      log: silentLogger,
      async reconcile() {
        running += 1;
        most = Math.max(most, running);
        await clock.sleep(100);
        running -= 1;
        finishedItems += 1;
      },
    },
    stop.signal,
  );
  for (let i = 0; i < 10; i += 1) queue.add(i);
  await clock.advance(150);
  t.equal(finishedItems, 3);
  stop.abort();
  await clock.advance(1000);
  await finished;
  t.equal(most, 3);
  t.equal(finishedItems, 6, 'items not started are left for the next run');
});

t.test('an item is dropped after its retries', async (t) => {
  const clock = new VirtualClock();
  const queue = new WorkQueue<string>({ clock });
  const stop = new AbortController();
  let passes = 0;
  const finished = runWorkers<string>(
    {
      queue,
      concurrency: 1,
      maxRetries: 3,
      log: silentLogger,
      reconcile() {
        passes += 1;
        return Promise.reject(new Error('no'));
      },
    },
    stop.signal,
  );
  queue.add('a');
  await clock.advance(60_000);
  t.equal(passes, 4);
  stop.abort();
  await finished;
});
