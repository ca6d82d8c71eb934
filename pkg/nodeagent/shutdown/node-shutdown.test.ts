import t, { type Test } from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import type { PodFailure } from '#nodeagent/pods/lifecycle.js';
import type { ShutdownPeriod } from '#nodeagent/shutdown/groups.js';
import { NodeShutdown } from '#nodeagent/shutdown/node-shutdown.js';
import type { ShutdownTimes } from '#nodeagent/shutdown/state-file.js';
import { FakeLogind } from '#nodeagent/shutdown/testing/fake-logind.js';

const pod = (name: string, priority: number, terminationGracePeriodSeconds = 30): Pod => ({
  metadata: { name, namespace: 'default', uid: name },
  spec: { containers: [], priority, terminationGracePeriodSeconds },
});
const standard = [
  { priority: 0, graceSeconds: 20 },
  { priority: 2_000_000_000, graceSeconds: 10 },
];

interface Ended {
  readonly name: string | undefined;
  readonly atMs: number;
  readonly failure: PodFailure;
}

/** A started manager. `endMs`: how long a pod takes to end, by name; default: at once. */
async function started(
  t: Test,
  pods: readonly Pod[],
  endMs: Readonly<Record<string, number>> = {},
  periods: readonly ShutdownPeriod[] = standard,
) {
  const clock = new VirtualClock();
  const logind = new FakeLogind();
  const ended: Ended[] = [];
  const events: string[] = [];
  const times: ShutdownTimes[] = [];
  let changes = 0;
  const shutdown = new NodeShutdown({
    ...{ clock, logind, periods },
    log: silentLogger,
    pods: () => pods,
    async end({ metadata: { name } }, failure) {
      ended.push({ name, atMs: clock.monotonic(), failure });
      await clock.sleep(endMs[name ?? ''] ?? 0);
    },
    events: { record: ({ type, reason, message }) => events.push(`${type} ${reason}: ${message}`) },
    onChange: () => {
      changes += 1;
    },
    times: {
      state: { load: async () => ({ startMs: 1000, endMs: 3000 }), store: async (each) => void times.push(each) },
      show: (each) => void times.push(each),
    },
  });
  const stop = new AbortController();
  const running = shutdown.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await running;
  });
  await clock.advance(0);
  await eventLoopTurn();
  return { clock, logind, shutdown, ended, events, times, stop, running, changes: () => changes };
}

t.test('the delay of logind is raised if it is too short, and the lock is held', async (t) => {
  const { logind } = await started(t, []);
  t.same(logind.calls, ['delay', 'override 30000', 'reload', 'delay', 'inhibit', 'watch'], 'calls');
  t.equal(logind.held, 1, 'the lock');
  const enough = await started(t, [], {}, [{ priority: 0, graceSeconds: 5 }]);
  t.same(enough.logind.calls, ['delay', 'inhibit', 'watch'], 'a delay that is long enough');
});

t.test('groups end one after the other, and then the machine may shut down', async (t) => {
  const pods = [pod('critical', 2_000_000_000), pod('web', 0), pod('short', 5, 3)];
  const { clock, logind, shutdown, ended, events, times, changes } = await started(t, pods, { web: 4000 });
  t.equal(shutdown.problem, undefined, 'before');
  t.equal(shutdown.refusal, undefined, 'before');
  logind.signal(true);
  t.equal(shutdown.problem, 'node is shutting down', 'the node is not ready');
  t.same(
    shutdown.refusal,
    { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' },
    'new pods',
  );
  t.equal(changes(), 1, 'the status is reported at once');
  t.same(events, ['Normal NodeShutdown: Shutdown manager detected shutdown event'], 'event');
  await clock.advance(3999);
  t.same(
    ended.map(({ name, failure }) => [name, failure.graceSeconds]),
    [
      ['web', 20],
      ['short', 3],
    ],
    'the first group',
  );
  t.match(ended[0]?.failure, {
    reason: 'Terminated',
    message: 'Pod was terminated in response to imminent node shutdown.',
    isRecorded: true,
  });
  t.equal(logind.held, 1, 'held until all have ended');
  await clock.advance(2);
  t.match(ended[2], { name: 'critical', failure: { graceSeconds: 10 } }, 'the second group');
  await clock.advance(1);
  t.equal(logind.held, 0, 'released');
  const last = times.at(-1);
  t.equal((last?.endMs ?? 0) - (last?.startMs ?? 0), 4000, 'the duration');
  t.same(times[0], { startMs: 1000, endMs: 3000 }, 'the last shutdown is shown before');
});

t.test('a group that does not end in its period does not hold up the next', async (t) => {
  const { clock, logind, ended } = await started(t, [pod('stuck', 0), pod('critical', 2_000_000_000)], { stuck: 1e9 });
  logind.signal(true);
  await clock.advance(19_999);
  t.equal(ended.length, 1, 'before the end of the period');
  await clock.advance(2);
  t.equal(ended.length, 2, 'after it');
  await clock.advance(1);
  t.equal(logind.held, 0, 'released');
});

t.test('groups without pods take no time', async (t) => {
  const { clock, logind } = await started(t, []);
  logind.signal(true);
  await clock.advance(1);
  t.equal(logind.held, 0, 'released at once');
});

t.test('after a cancellation the node is ready, later groups live on, and the lock is taken again', async (t) => {
  const pods = [pod('web', 0), pod('critical', 2_000_000_000)];
  const { clock, logind, shutdown, ended, events } = await started(t, pods, { web: 5000 });
  logind.signal(true);
  await clock.advance(1000);
  logind.signal(false);
  t.equal(shutdown.problem, undefined, 'ready');
  t.equal(events[1], 'Normal NodeShutdown: Shutdown manager detected shutdown cancellation', 'event');
  await clock.advance(10_000);
  t.same(
    ended.map(({ name }) => name),
    ['web'],
    'ended pods',
  );
  t.equal(logind.held, 1, 'one lock');
  logind.signal(true);
  await clock.advance(10_000);
  t.equal(logind.held, 0, 'released at the next shutdown');
});

t.test('after a restart of the bus shutdowns are watched again, with one lock', async (t) => {
  const { clock, logind, ended } = await started(t, [pod('web', 0)]);
  logind.failing.add('delay');
  logind.restart();
  await clock.advance(1000);
  t.equal(logind.calls.at(-1), 'delay', 'tried after a second');
  await clock.advance(1000);
  logind.failing.clear();
  await clock.advance(1000);
  t.equal(logind.calls.at(-1), 'watch', 'tried until it succeeds');
  t.equal(logind.held, 1, 'one lock');
  logind.signal(true);
  await clock.advance(1);
  t.equal(ended.length, 1, 'seen');
});

t.test('without logind the agent runs on, and tries no more', async (t) => {
  for (const call of ['delay', 'override', 'reload', 'inhibit', 'watch']) {
    const clock = new VirtualClock();
    const logind = new FakeLogind();
    logind.failing.add(call);
    const errors: unknown[] = [];
    const shutdown = new NodeShutdown({
      ...{ clock, logind, periods: standard },
      log: { ...silentLogger, error: (fields: unknown) => void errors.push(fields) } as typeof silentLogger,
      pods: () => [],
      end: async () => undefined,
      events: { record: () => undefined },
      onChange: () => undefined,
    });
    await shutdown.run(new AbortController().signal);
    t.match(errors, [{ err: { message: new RegExp(`^${call}`) } }], call);
    t.equal(logind.held, 0, `${call}: no lock is left`);
  }
});

t.test('a delay that cannot be raised is an error with the words of 1.24', async (t) => {
  const clock = new VirtualClock();
  const logind = new FakeLogind();
  logind.reloadReads = 100;
  const done = deferred<unknown>();
  const shutdown = new NodeShutdown({
    ...{ clock, logind, periods: standard },
    log: { ...silentLogger, error: (fields: unknown) => done.resolve(fields) } as typeof silentLogger,
    pods: () => [],
    end: async () => undefined,
    events: { record: () => undefined },
    onChange: () => undefined,
  });
  const running = shutdown.run(new AbortController().signal);
  await clock.advance(2000);
  await running;
  t.match(await done.promise, {
    err: {
      message:
        'node shutdown manager was unable to update logind InhibitDelayMaxSec to 30s (ShutdownGracePeriod), current value of InhibitDelayMaxSec (5s) is less than requested ShutdownGracePeriod',
    },
  });
});

t.test('an agent that stops releases its lock', async (t) => {
  const { logind, stop, running } = await started(t, []);
  stop.abort();
  await running;
  t.equal(logind.held, 0, 'released');
});
