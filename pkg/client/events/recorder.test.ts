import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { events, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { forbidden, serviceUnavailable } from '#apimachinery/errors/status.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { eventLoopTurn, VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

function setUp(t: Test) {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: [events, pods] });
  const registry = new Registry();
  const recorder = new ApiEventRecorder({
    client: api.client,
    source: { component: 'tester', host: 'n1' },
    clock,
    random: () => 0,
    log: silentLogger,
    metrics: registry,
  });
  t.teardown(() => api.verify());
  return { clock, api, recorder, registry };
}

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', namespace: 'ns', uid: 'u1', resourceVersion: '7' },
  spec: { containers: [] },
};

t.test('writes an event with source and object', async (t) => {
  const { api, recorder } = setUp(t);
  recorder.record(pod, 'Normal', 'Scheduled', 'done');
  await eventLoopTurn();
  const [event] = api.list(events);
  t.match(event, {
    metadata: { namespace: 'ns', name: /^a\.[0-9a-f]+$/ },
    involvedObject: { kind: 'Pod', apiVersion: 'v1', namespace: 'ns', name: 'a', uid: 'u1', resourceVersion: '7' },
    reason: 'Scheduled',
    message: 'done',
    type: 'Normal',
    count: 1,
    source: { component: 'tester', host: 'n1' },
    firstTimestamp: '2022-05-03T00:00:00Z',
  });
  recorder.record({ kind: 'Node', name: 'n1' }, 'Warning', 'Odd', 'x');
  await eventLoopTurn();
  t.equal(api.list(events)[1]?.metadata.namespace, 'default', 'events of cluster-scoped objects');
});

t.test('counts equal events in one object', async (t) => {
  const { api, recorder, clock } = setUp(t);
  for (let i = 0; i < 5; i += 1) {
    recorder.record(pod, 'Warning', 'BackOff', 'again');
    await clock.advance(1000);
  }
  t.equal(api.list(events).length, 1);
  t.match(api.list(events)[0], {
    count: 5,
    firstTimestamp: '2022-05-03T00:00:00Z',
    lastTimestamp: '2022-05-03T00:00:04Z',
  });
  t.same(
    api.takeWrites().map((line) => line.split(' ')[0]),
    ['create', 'patch', 'patch', 'patch', 'patch'],
  );
});

t.test('counts a flood about one object and writes it later, but a new reason at once', async (t) => {
  const { api, recorder, clock } = setUp(t);
  for (let i = 0; i < 100; i += 1) {
    recorder.record(pod, 'Warning', 'BackOff', 'again');
    await eventLoopTurn();
  }
  t.equal(api.list(events)[0]?.count, 25);
  recorder.record(pod, 'Warning', 'Failed', 'other');
  await eventLoopTurn();
  t.equal(api.list(events)[1]?.reason, 'Failed');
  await clock.advance(300_000);
  t.equal(api.list(events)[0]?.count, 100, 'all events are counted');
  t.equal(clock.pendingTimers, 0);
});

t.test('combines many different messages of one reason', async (t) => {
  const { api, recorder, clock } = setUp(t);
  for (let i = 0; i < 20; i += 1) {
    recorder.record(pod, 'Warning', 'Failed', `number ${i}`);
    await eventLoopTurn();
  }
  t.equal(api.list(events).length, 10);
  t.match(api.list(events)[9], { message: '(combined from similar events): number 19', count: 11 });
  await clock.advance(700_000);
  recorder.record(pod, 'Warning', 'Failed', 'number 99');
  await eventLoopTurn();
  t.equal(api.list(events)[10]?.message, 'number 99', 'messages are separate again after a quiet time');
});

t.test('recreates an expired event', async (t) => {
  const { api, recorder } = setUp(t);
  recorder.record(pod, 'Normal', 'Pulled', 'x');
  await eventLoopTurn();
  const name = api.list(events)[0]?.metadata.name ?? '';
  api.remove(events, `ns/${name}`);
  recorder.record(pod, 'Normal', 'Pulled', 'x');
  await eventLoopTurn();
  t.match(api.list(events)[0], { count: 2 });
  t.not(api.list(events)[0]?.metadata.name, name);
});

t.test('retries an unreachable server but no refusal, and counts both as dropped', async (t) => {
  const { api, recorder, clock, registry } = setUp(t);
  const up = api.intercept(() => serviceUnavailable('down'));
  recorder.record(pod, 'Normal', 'A', 'x');
  await clock.advance(15_000);
  up();
  await clock.advance(15_000);
  t.equal(api.list(events).length, 1);
  const down = api.intercept(() => serviceUnavailable('down'));
  recorder.record(pod, 'Normal', 'B', 'x');
  await clock.advance(300_000);
  down();
  const refusing = api.intercept(() =>
    forbidden({ group: '', resource: 'events' }, '', 'the namespace is being terminated'),
  );
  api.calls.length = 0;
  recorder.record(pod, 'Normal', 'C', 'x');
  await clock.advance(300_000);
  t.equal(api.calls.length, 1);
  const text = await registry.metrics();
  t.match(text, 'event_recorder_dropped_total{cause="unreachable"} 1');
  t.match(text, 'event_recorder_dropped_total{cause="rejected"} 1');
  refusing();
  recorder.record(pod, 'Normal', 'B', 'x');
  recorder.record(pod, 'Normal', 'C', 'x');
  await eventLoopTurn();
  const counts = api.list(events).map(({ reason, count }) => `${reason} ${count}`);
  t.same(counts, ['A 1', 'B 2', 'C 2'], 'dropped occurrences count in the next write');
});

t.test('only one event at a time uses up its attempts while the server is away', async (t) => {
  const { api, recorder, clock, registry } = setUp(t);
  const up = api.intercept(() => serviceUnavailable('down'));
  for (let i = 0; i < 20; i += 1) recorder.record({ ...pod, metadata: { name: `p${i}` } }, 'Normal', 'A', 'x');
  // Longer than all attempts of one event.
  await clock.advance(150_000);
  up();
  await clock.advance(150_000);
  t.match(await registry.metrics(), 'event_recorder_dropped_total{cause="unreachable"} 1');
  t.equal(api.list(events).length, 19);
});

t.test('close writes pending events, but not for long', async (t) => {
  const { api, recorder } = setUp(t);
  for (let i = 0; i < 30; i += 1) {
    recorder.record(pod, 'Warning', 'BackOff', 'again');
    await eventLoopTurn();
  }
  await recorder.close();
  t.equal(api.list(events)[0]?.count, 30);
  recorder.record(pod, 'Warning', 'Late', 'x');
  await eventLoopTurn();
  t.equal(api.list(events).length, 1);
  const other = setUp(t);
  other.api.intercept(() => serviceUnavailable('down'));
  other.recorder.record(pod, 'Normal', 'A', 'x');
  other.recorder.record(pod, 'Normal', 'B', 'x');
  const closing = other.recorder.close();
  await other.clock.advance(1000);
  await closing;
  t.equal(other.clock.pendingTimers, 0);
  other.recorder.record(pod, 'Normal', 'C', 'x');
  t.match(await other.registry.metrics(), 'event_recorder_dropped_total{cause="closed"} 3', 'each loss is counted');
});

t.test('random floods lose no reason and no count', async (t) => {
  const first = Math.floor(Math.random() * 2 ** 31);
  t.comment(`seeds from ${first}`);
  for (let seed = first; seed < first + 6; seed += 1) {
    let state = seed >>> 0;
    const random = (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const { api, recorder, clock } = setUp(t);
    let down = false;
    // Too few failures to drop a write, since a dropped one counts only in the next write.
    let failures = 0;
    api.intercept(() => {
      failures = down && failures < 10 ? failures + 1 : 0;
      return failures === 0 ? undefined : serviceUnavailable('down');
    });
    const recorded = new Map<string, number>();
    for (let i = 0; i < 400; i += 1) {
      const name = `p${random(3)}`;
      const reason = `Reason${random(8)}`;
      const key = `${name} ${reason}`;
      recorder.record({ kind: 'Pod', namespace: 'ns', name }, 'Warning', reason, `message ${random(30)}`);
      recorded.set(key, (recorded.get(key) ?? 0) + 1);
      if (random(20) === 0) down = !down;
      if (random(4) === 0) await clock.advance(random(3000));
    }
    down = false;
    await clock.advance(100_000_000);
    const written = new Map<string, number>();
    for (const { involvedObject, reason, count } of api.list(events)) {
      const key = `${involvedObject.name} ${reason}`;
      written.set(key, (written.get(key) ?? 0) + (count ?? 0));
    }
    for (const [key, count] of recorded) if (written.get(key) !== count) t.fail(`seed ${seed}: ${key}`);
    await recorder.close();
  }
});
