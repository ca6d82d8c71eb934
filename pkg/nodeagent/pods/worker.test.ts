import { Registry } from 'prom-client';
import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { AgentMetrics } from '#nodeagent/metrics/agent-metrics.js';
import type { Input, PodFailure, Task } from '#nodeagent/pods/lifecycle.js';
import { type PodOperations, PodWorker } from '#nodeagent/pods/worker.js';

const never = Number.POSITIVE_INFINITY;
const nothingToDo: Input = {
  type: 'planned',
  plan: { type: 'run', kill: [], start: [], remove: [], removeSandboxes: [] },
  wakeAt: never,
};
const done: Input = { type: 'done', acted: true, wakeAt: never };

const pod = (metadata: Partial<Pod['metadata']> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'default', uid: 'u', ...metadata },
  spec: { containers: [{ name: 'main', image: 'app:1' }] },
});

/** Records its calls and returns results when the test provides them. */
class RecordedOperations implements PodOperations {
  readonly calls: string[] = [];
  #answer: Deferred<Input> | undefined;
  signal: AbortSignal | undefined;

  run(task: Task, signal: AbortSignal): Promise<Input> {
    this.calls.push(task.type);
    this.signal = signal;
    this.#answer = deferred();
    return this.#answer.promise;
  }

  async finishTask(input: Input | Error): Promise<void> {
    if (input instanceof Error) this.#answer?.reject(input);
    else this.#answer?.resolve(input);
    await new Promise((resolve) => setImmediate(resolve));
  }

  condemn({ reason }: PodFailure): boolean {
    this.calls.push(`condemn ${reason}`);
    return true;
  }

  hasten(graceSeconds: number): void {
    this.calls.push(`hasten ${graceSeconds}`);
  }

  async report(): Promise<void> {
    this.calls.push('report');
  }

  silence(): void {
    this.calls.push('silence');
  }

  resetBackoff(): void {
    this.calls.push('reset');
  }

  /** Returns the calls since the previous one. */
  takeCalls(): string[] {
    return this.calls.splice(0);
  }
}

function setUp() {
  const clock = new VirtualClock();
  const operations = new RecordedOperations();
  const registry = new Registry();
  const metrics = new AgentMetrics(registry, orchDialect);
  const worker = new PodWorker({
    pod: pod(),
    clock,
    log: silentLogger,
    metrics,
    operations: () => operations,
    resyncMs: () => 60_000,
  });
  worker.start();
  return { clock, operations, worker, registry };
}

t.test('a pod without events is checked periodically', async (t) => {
  const { clock, operations, worker } = setUp();
  operations.takeCalls();
  await operations.finishTask(nothingToDo);
  operations.takeCalls();
  await clock.advance(59_999);
  t.same(operations.takeCalls(), []);
  await clock.advance(1);
  t.same(operations.takeCalls(), ['prepare']);
  await clock.advance(120_000);
  t.same(operations.takeCalls(), ['report'], 'not while it is looked at, which takes long');
  await operations.finishTask(nothingToDo);
  t.same(operations.takeCalls(), ['report']);
  await clock.advance(30_000);
  worker.poke();
  t.same(operations.takeCalls(), ['prepare']);
  await operations.finishTask(nothingToDo);
  operations.takeCalls();
  await clock.advance(59_999);
  t.same(operations.takeCalls(), [], 'counted from the last look');
  await worker.stop();
  await clock.advance(60_000);
  t.same(operations.takeCalls(), []);
});

t.test('a condemned pod ends at once', async (t) => {
  const { operations, worker } = setUp();
  const failure = { reason: 'Evicted', message: 'too large' };
  operations.takeCalls();
  t.equal(worker.condemn(failure), true);
  t.equal(operations.signal?.aborted, true, 'such as an image, or a hook without end');
  await operations.finishTask(new Error('aborted'));
  t.same(operations.takeCalls(), ['condemn Evicted', 'prepare']);
  await operations.finishTask({ type: 'planned', plan: { type: 'finish', failure }, wakeAt: never });
  t.same(operations.takeCalls(), ['finish']);
  t.equal(worker.condemn(failure), false, 'it ends already');
});

t.test('syncs, rests, and syncs again on a change or when due', async (t) => {
  const { clock, operations, worker } = setUp();
  t.same(operations.takeCalls(), ['prepare']);
  worker.poke();
  t.same(operations.takeCalls(), [], 'one task at a time');
  await operations.finishTask(nothingToDo);
  t.same(operations.takeCalls(), ['report', 'prepare'], 'once more for what changed meanwhile');
  await operations.finishTask({ ...nothingToDo, wakeAt: clock.monotonic() + 5000 });
  t.same(operations.takeCalls(), ['report']);
  await clock.advance(4999);
  t.same(operations.takeCalls(), []);
  await clock.advance(1);
  t.same(operations.takeCalls(), ['prepare']);
  await operations.finishTask(nothingToDo);
  worker.retryNow();
  t.same(operations.takeCalls(), ['report', 'reset', 'prepare']);
});

t.test('retries failures with a back-off, and at once on a change', async (t) => {
  const { clock, operations, worker } = setUp();
  for (const ms of [500, 1000, 2000]) {
    operations.takeCalls();
    await operations.finishTask(new Error('no such mount'));
    await clock.advance(ms - 1);
    t.notOk(operations.takeCalls().includes('prepare'));
    await clock.advance(1);
    t.ok(operations.takeCalls().includes('prepare'), `after ${ms} ms`);
  }
  await operations.finishTask(new Error('no such mount'));
  worker.poke();
  t.ok(operations.takeCalls().includes('prepare'));
});

t.test('reports a slow sync', async (t) => {
  const { clock, operations } = setUp();
  operations.takeCalls();
  await clock.advance(150);
  t.same(operations.takeCalls(), ['report']);
  await clock.advance(10_000);
  t.same(operations.takeCalls(), []);
});

t.test('terminates a deleted pod, sooner on a shorter grace period', async (t) => {
  const { operations, worker } = setUp();
  const deletion = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 };
  worker.update(pod(deletion));
  t.ok(operations.signal?.aborted, 'what is under way gives up waiting');
  await operations.finishTask(new Error('aborted'));
  t.same(operations.takeCalls(), ['prepare', 'stopPod']);
  worker.update(pod({ ...deletion, deletionGracePeriodSeconds: 1 }));
  t.same(operations.takeCalls(), ['hasten 1']);
  for (const calls of [['conclude'], ['silence', 'removePod'], ['deleteObject'], []]) {
    await operations.finishTask(done);
    t.same(operations.takeCalls(), calls);
  }
  await worker.gone;
  worker.update(pod(deletion));
  worker.remove();
  worker.poke();
  t.same(operations.takeCalls(), []);
});

t.test('removes a pod without an object, without reporting', async (t) => {
  const { operations, worker } = setUp();
  worker.remove();
  await operations.finishTask(nothingToDo);
  await operations.finishTask(done);
  await operations.finishTask(done);
  await worker.gone;
  t.same(
    operations.takeCalls().filter((call) => call !== 'silence'),
    ['prepare', 'stopPod', 'removePod'],
  );
});

t.test('does nothing once stopped', async (t) => {
  const { clock, operations, worker } = setUp();
  const stopped = worker.stop();
  await operations.finishTask(nothingToDo);
  await stopped;
  worker.poke();
  await clock.advance(60_000);
  t.same(operations.takeCalls(), ['prepare']);
});

t.test('measures each pass by its type', async (t) => {
  const { clock, operations, worker, registry } = setUp();
  const pass = async (seconds: number, input: Input) => {
    await clock.advance(seconds * 1000);
    await operations.finishTask(input);
  };
  await pass(1, nothingToDo);
  worker.poke();
  await pass(2, nothingToDo);
  worker.update(pod({ labels: { a: 'b' } }));
  worker.poke();
  await pass(4, nothingToDo);
  // The poke during the update causes a separate pass.
  await pass(8, nothingToDo);
  worker.update(pod({ deletionTimestamp: '2022-01-01T00:00:00Z' }));
  for (const _ of ['stopPod', 'conclude', 'removePod', 'deleteObject']) await pass(4, done);
  await worker.gone;
  const text = await registry.metrics();
  const sums = [...text.matchAll(/^nodeagent_pod_worker_duration_seconds_sum\{operation_type="(\w+)"\} (\S+)$/gm)];
  t.strictSame(
    sums.map(([, operation, seconds]) => [operation, Number(seconds)]),
    [
      ['create', 1],
      ['sync', 10],
      ['update', 4],
      ['kill', 16],
    ],
  );
  t.match(text, /^nodeagent_pod_worker_start_duration_seconds_count 1$/m);
  t.match(text, /^nodeagent_containers_per_pod_count_sum 1$/m);
});
