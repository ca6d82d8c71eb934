/**
 * Queue and workers under a thousand random schedules: one, two or five workers; slow, failing, requeued and conflicting
 * passes; bursts of equal items; and a stop at any time. No item is held twice at once, and no added item is lost.
 */
import t from 'tap';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { done, type Outcome, requeueAfter, retry, terminal } from '#client/workqueue/outcome.js';
import { WorkQueue } from '#client/workqueue/queue.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';
import { runWorkers } from '#client/workqueue/workers.js';
import { silentLogger } from '#daemon/log/logger.js';

const schedules = 1000;
const firstSeed = 1;
const steps = 40;

/** A small random generator, so that a seed reproduces a run. */
function generator(seed: number): (below: number) => number {
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(((state >>> 5) / 2 ** 27) * below);
  };
}

interface Totals {
  passes: number;
  failures: number;
  mostAtOnce: number;
  /** Items added while in progress. */
  overlaps: number;
}

async function run(seed: number, totals: Totals): Promise<readonly string[]> {
  const random = generator(seed);
  const clock = new VirtualClock();
  const concurrency = [1, 2, 5][seed % 3] ?? 1;
  const queue = new WorkQueue<string>({
    clock,
    rateLimiter: new ItemExponentialRateLimiter(5, 1000),
  });
  const problems: string[] = [];
  const held = new Set<string>();
  /** Items added since their last pass began. */
  const pending = new Set<string>();
  let calm = false;
  const stop = new AbortController();
  const outcomeOf = (): Outcome => {
    if (calm) return done;
    const [again, fail] = [() => requeueAfter(random(3000)), () => retry(new Error('not yet'))];
    return (
      [() => done, () => done, () => done, again, fail, fail, () => terminal(new Error('never'))][random(7)]?.() ?? done
    );
  };
  const finished = runWorkers<string>(
    {
      queue,
      concurrency,
      log: silentLogger,
      async reconcile(item) {
        if (held.has(item)) problems.push(`${item} is held twice`);
        if (stop.signal.aborted) problems.push(`${item} is begun after the end`);
        held.add(item);
        pending.delete(item);
        totals.passes += 1;
        totals.mostAtOnce = Math.max(totals.mostAtOnce, held.size);
        if (held.size > concurrency) problems.push(`${held.size} items at once`);
        await clock.sleep(random(4) === 0 ? random(5000) : random(20));
        held.delete(item);
        const outcome = outcomeOf();
        if (outcome.kind === 'retry') totals.failures += 1;
        if (outcome.kind === 'retry' || outcome.kind === 'requeueAfter') pending.add(item);
        if (outcome.kind === 'retry' && random(2) === 0) throw new Error('thrown');
        return outcome;
      },
    },
    stop.signal,
  );
  const ask = (item: string, call: () => void) => {
    if (held.has(item)) totals.overlaps += 1;
    pending.add(item);
    call();
  };
  for (let step = 0; step < steps; step += 1) {
    const item = `i${random(8)}`;
    switch (random(5)) {
      case 0:
        ask(item, () => queue.addAfter(item, random(2000)));
        break;
      case 1:
        ask(item, () => queue.addRateLimited(item));
        break;
      case 2:
        await clock.advance(random(3000));
        break;
      default:
        ask(item, () => queue.add(item));
    }
  }
  calm = seed % 4 !== 0;
  if (calm) {
    await clock.advance(60_000);
    if (pending.size > 0) problems.push(`never looked at: ${[...pending].join(', ')}`);
    if (queue.length + queue.delayedLength + queue.processingLength > 0) problems.push('the queue is not empty');
  }
  stop.abort();
  let ended = false;
  void finished.then(() => {
    ended = true;
  });
  await clock.advance(20_000);
  if (!ended) problems.push('the workers do not end');
  if (clock.pendingTimers > 0) problems.push('a timer is left');
  return problems;
}

t.test(`no item is held twice or lost in ${schedules} schedules`, async (t) => {
  const totals: Totals = { passes: 0, failures: 0, mostAtOnce: 0, overlaps: 0 };
  t.comment(`seeds ${firstSeed} to ${firstSeed + schedules - 1}`);
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    const problems = await run(seed, totals);
    if (problems.length > 0) t.fail(`seed ${seed}: ${problems.slice(0, 3).join('; ')}`);
  }
  t.comment(JSON.stringify(totals));
  t.equal(totals.mostAtOnce, 5);
  t.ok(totals.failures > schedules && totals.overlaps > schedules, 'the schedules are hard enough');
});
