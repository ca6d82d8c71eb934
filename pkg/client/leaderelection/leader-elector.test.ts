import t, { type Test } from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { parseLeaderFence } from '#apimachinery/leader-fence.js';
import { LeaderElector } from '#client/leaderelection/leader-elector.js';
import { LeaseLock } from '#client/leaderelection/lock.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

const key = 'sys/lock';

function setUp(t: Test, { jitter = 0 } = {}) {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: [leases] });
  const leading = new Set<string>();
  let most = 0;
  const log: string[] = [];
  const candidate = (identity: string, skewMs = 0) => {
    const skewed = Object.assign(Object.create(clock), { now: () => clock.now() + skewMs }) as VirtualClock;
    const elector = new LeaderElector({
      lock: new LeaseLock({ client: api.client, namespace: 'sys', name: 'lock' }),
      identity,
      leaseDurationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2000,
      clock: {
        now: () => skewed.now(),
        monotonic: () => clock.monotonic(),
        setTimer: (fn, ms) => clock.setTimer(fn, ms),
        sleep: (ms, signal) => clock.sleep(ms, signal),
      },
      random: () => jitter,
      log: silentLogger,
    });
    const stop = new AbortController();
    const finished = elector.run(async (signal) => {
      leading.add(identity);
      most = Math.max(most, leading.size);
      log.push(`${identity} leads`);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      leading.delete(identity);
      log.push(`${identity} stops`);
    }, stop.signal);
    t.teardown(async () => {
      stop.abort();
      await clock.advance(30_000);
      await finished;
    });
    return { elector, stop, finished };
  };
  return { clock, api, candidate, leading, log, most: () => most };
}

t.test('the first candidate leads and renews', async (t) => {
  const { clock, api, candidate, log } = setUp(t);
  const a = candidate('a');
  await clock.advance(0);
  const b = candidate('b');
  await clock.advance(60_000);
  t.same(log, ['a leads']);
  t.equal(a.elector.isLeader, true);
  t.equal(b.elector.leader, 'a');
  t.match(api.get(leases, key)?.spec, {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: '2022-05-03T00:00:00.000000Z',
    renewTime: '2022-05-03T00:01:00.000000Z',
    leaseTransitions: 0,
  });
});

t.test('a stopping leader releases the lock', async (t) => {
  const { clock, api, candidate, log } = setUp(t);
  const a = candidate('a');
  await clock.advance(0);
  candidate('b');
  await clock.advance(10_000);
  a.stop.abort();
  await a.finished;
  t.equal(api.get(leases, key)?.spec.holderIdentity, '');
  await clock.advance(2000);
  t.same(log, ['a leads', 'a stops', 'b leads']);
  t.equal(api.get(leases, key)?.spec.leaseTransitions, 1);
});

t.test('a leader that cannot renew stops before another starts, and may lead again', async (t) => {
  const { clock, api, candidate, log, most } = setUp(t);
  candidate('a');
  await clock.advance(5000);
  const up = api.intercept(() => serviceUnavailable('down'));
  await clock.advance(8900);
  t.same(log, ['a leads']);
  await clock.advance(11_000);
  t.same(log, ['a leads', 'a stops']);
  candidate('b');
  up();
  await clock.advance(60_000);
  t.equal(most(), 1);
  t.same(log.slice(0, 2), ['a leads', 'a stops']);
  t.equal(log.length, 3, 'one candidate leads again');
});

t.test('a waiting candidate observes renewals and the end of a term as they happen', async (t) => {
  const { clock, api, candidate, log } = setUp(t, { jitter: 0.999 });
  const a = candidate('a');
  await clock.advance(1000);
  candidate('b');
  await clock.advance(3100);
  a.stop.abort();
  await a.finished;
  await clock.advance(10);
  t.same(log, ['a leads', 'a stops', 'b leads'], 'at once');

  log.splice(0);
  candidate('c');
  await clock.advance(5000);
  const renewals = api.intercept(() => serviceUnavailable('down'));
  const { spec } = api.get(leases, key) ?? {};
  await clock.advance(15_000);
  t.same(log, ['b stops']);
  renewals();
  // Another candidate takes the lock and dies after a renewal between two checks.
  for (const second of ['30', '37']) {
    api.change(leases, key, (lease) => {
      lease.spec = { ...spec, holderIdentity: 'd', renewTime: `2022-05-03T00:00:${second}.000000Z` };
    });
    await clock.advance(second === '30' ? 7000 : 14_990);
    t.same(log, ['b stops'], 'd may still lead');
  }
  await clock.advance(20);
  t.match(log, ['b stops', /leads$/], 'the lease duration after the last renewal');
});

t.test('a crashed leader is replaced after the locally measured lease duration, regardless of its clock', async (t) => {
  for (const skewMs of [-3_600_000, 0, 3_600_000]) {
    const { clock, api, candidate, log } = setUp(t);
    const at = new Date(clock.now() + skewMs).toISOString().replace('Z', '000Z');
    api.seed(leases, {
      metadata: { name: 'lock', namespace: 'sys' },
      spec: { holderIdentity: 'dead', leaseDurationSeconds: 15, acquireTime: at, renewTime: at, leaseTransitions: 3 },
    });
    candidate('a');
    await clock.advance(14_900);
    t.same(log, [], `skew ${skewMs}`);
    await clock.advance(2100);
    t.same(log, ['a leads']);
    t.equal(api.get(leases, key)?.spec.leaseTransitions, 4);
  }
});

t.test('another holder ends leadership at once', async (t) => {
  const { clock, api, candidate, log } = setUp(t);
  const a = candidate('a');
  await clock.advance(4000);
  api.change(leases, key, (lease) => {
    lease.spec = { ...lease.spec, holderIdentity: 'thief', renewTime: '2022-05-03T00:00:05.000000Z' };
  });
  await clock.advance(2000);
  t.same(log, ['a leads', 'a stops']);
  t.equal(a.elector.isLeader, false);
  t.equal(a.elector.leader, 'thief');
  t.equal(api.get(leases, key)?.spec.holderIdentity, 'thief', 'its lock is not released');
});

t.test('two of many candidates never lead at once under random faults', async (t) => {
  for (const seed of [1, 2, 3, 4, 5]) {
    t.comment(`seed ${seed}`);
    let state = seed;
    const random = () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return state / 2 ** 32;
    };
    const { clock, api, candidate, most, log } = setUp(t);
    let fault = 0;
    api.intercept((call) => {
      if (random() >= fault) return undefined;
      // A lost response: the write takes effect, but its sender gets an error.
      if (call.verb === 'update' && random() < 0.5) {
        const { spec, metadata } = call.body as { spec: object; metadata: { resourceVersion?: string } };
        if (api.get(leases, key)?.metadata.resourceVersion === metadata.resourceVersion) {
          api.change(leases, key, (lease) => {
            lease.spec = { ...spec };
          });
        }
      }
      return serviceUnavailable('fault');
    });
    for (let i = 0; i < 5; i += 1) candidate(`c${i}`, (random() - 0.5) * 1e7);
    for (let round = 0; round < 40; round += 1) {
      fault = random() < 0.4 ? 0.95 : 0.2;
      await clock.advance(Math.floor(random() * 20_000));
    }
    fault = 0;
    await clock.advance(60_000);
    t.equal(most(), 1);
    t.ok(log.length >= 1);
  }
});

t.test('when the work ends, the lock is released and run settles', async (t) => {
  const { api, clock } = setUp(t);
  const terms: string[] = [];
  const make = (identity: string) =>
    new LeaderElector({
      lock: new LeaseLock({ client: api.client, namespace: 'sys', name: 'lock' }),
      identity,
      leaseDurationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2000,
      clock,
      random: () => 0,
      log: silentLogger,
      onTerm: (what) => terms.push(`${identity} ${what}`),
    });
  const never = new AbortController().signal;
  await make('a').run(() => Promise.resolve(), never);
  t.equal(api.get(leases, key)?.spec.holderIdentity, '');
  await t.rejects(
    make('b').run(() => Promise.reject(new Error('broken')), never),
    { message: 'broken' },
  );
  t.equal(api.get(leases, key)?.spec.holderIdentity, '');
  t.equal(clock.pendingTimers, 0);
  t.same(terms, ['a became leader', 'a stopped leading', 'b became leader', 'b stopped leading']);
});

t.test('a candidate that loses leadership stops and may lead again', async (t) => {
  const { api, clock, candidate, log } = setUp(t);
  const a = candidate('a');
  await clock.advance(3000);
  const restore = api.intercept(() => serviceUnavailable('down'));
  await clock.advance(30_000);
  t.same(log, ['a leads', 'a stops']);
  restore();
  await clock.advance(30_000);
  t.same(log, ['a leads', 'a stops', 'a leads']);
  t.equal(a.elector.isLeader, true);
});

t.test('inconsistent times are refused', async (t) => {
  const { api, clock } = setUp(t);
  const lock = new LeaseLock({ client: api.client, namespace: 'sys', name: 'lock' });
  const common = { lock, identity: 'a', clock, random: () => 0, log: silentLogger };
  for (const [lease, renew, retry] of [
    [10, 10, 2],
    [15, 10, 9],
    [15, 10, 0],
  ] as const) {
    t.throws(
      () => new LeaderElector({ ...common, leaseDurationMs: lease, renewDeadlineMs: renew, retryPeriodMs: retry }),
      RangeError,
    );
  }
});

t.test('writes carry the term and are refused outside of it', async (t) => {
  const { clock, api, candidate } = setUp(t);
  const a = candidate('a');
  t.throws(() => a.elector.fence(), { message: /does not hold|aborted/ }, 'there is no leader yet');
  await clock.advance(5000);
  const fence = () => parseLeaderFence(a.elector.fence()['leader-fence'] ?? '');
  const term = { lock: 'leases', namespace: 'sys', name: 'lock', holderIdentity: 'a', leaseTransitions: 0 };
  t.match(fence(), { ...term, acquireTime: '2022-05-03T00:00:00.000000Z' });
  const writer = new RestClient({
    transport: new InProcessTransport({ handler: (request) => api.handle(request) }),
    dialect: orchDialect,
    clock,
    fence: () => a.elector.fence(),
  }).resource(leases);
  const other = { metadata: { name: 'other', namespace: 'sys' }, spec: {} };
  await writer.create(other);
  // The lock passes to another candidate, unnoticed by this one.
  api.change(leases, key, (lease) => {
    lease.spec = { ...lease.spec, holderIdentity: 'b', leaseTransitions: 1 };
  });
  await t.rejects(writer.delete('other', { namespace: 'sys' }), { message: /term of the leader/ });
  t.ok(await writer.get('other', { namespace: 'sys' }), 'reads need no term');
  await clock.advance(3000);
  await t.rejects(
    writer.delete('other', { namespace: 'sys' }),
    { message: /does not hold|aborted/ },
    'now it has noticed',
  );
});

t.test('no write is sent once the renew deadline has passed', async (t) => {
  const { clock, api, candidate } = setUp(t);
  const a = candidate('a');
  await clock.advance(3000);
  api.intercept(() => serviceUnavailable('down'));
  await clock.advance(8500);
  t.ok(a.elector.fence(), 'renewed at 2 s');
  await clock.advance(600);
  t.throws(() => a.elector.fence(), { message: /does not hold|aborted/ });
});

t.test('deleting the lock ends the term, and another begins', async (t) => {
  const { clock, api, candidate, log } = setUp(t);
  candidate('a');
  await clock.advance(3000);
  api.remove(leases, key);
  await clock.advance(8000);
  t.same(log, ['a leads', 'a stops', 'a leads']);
  t.not(api.get(leases, key)?.spec.acquireTime, '2022-05-03T00:00:00.000000Z');
});

t.test('a leader that neither renews nor stops is not healthy', async (t) => {
  const { api, clock } = setUp(t);
  const elector = new LeaderElector({
    lock: new LeaseLock({ client: api.client, namespace: 'sys', name: 'lock' }),
    identity: 'a',
    leaseDurationMs: 15_000,
    renewDeadlineMs: 10_000,
    retryPeriodMs: 2000,
    clock,
    random: () => 0,
    log: silentLogger,
  });
  let finish: () => void = () => undefined;
  const stop = new AbortController();
  const hanging = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const running = elector.run(() => hanging, stop.signal);
  await clock.advance(5000);
  t.equal(elector.isHealthy(), true);
  const restore = api.intercept(() => serviceUnavailable('down'));
  await clock.advance(11_000);
  t.equal(elector.isHealthy(), true, 'the lease has not expired yet');
  t.throws(() => elector.fence(), 'but writes are refused');
  await clock.advance(5000);
  t.equal(elector.isHealthy(), false);
  t.equal(elector.isHealthy(20_000), true, 'with more tolerance');
  restore();
  stop.abort();
  finish();
  await clock.advance(30_000);
  await running;
  t.equal(elector.isHealthy(), true, 'it no longer leads');
});
