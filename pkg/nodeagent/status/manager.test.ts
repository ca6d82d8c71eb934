import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod, PodStatus } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { badRequest, forbidden, type StatusError, serviceUnavailable } from '#apimachinery/errors/status.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { StatusManager, type StatusManagerOptions } from '#nodeagent/status/manager.js';

const key = 'default/web';
const pod = (uid: string): Pod => ({
  metadata: { name: 'web', namespace: 'default', uid },
  spec: { containers: [{ name: 'web', image: 'web' }] },
});

function setUp(t: { teardown(fn: () => unknown): void }, more: Partial<StatusManagerOptions> = {}) {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: [pods] });
  const cache = new Map<string, Pod>();
  const manager = new StatusManager({
    client: api.client,
    clock,
    log: silentLogger,
    getPod: (uid) => cache.get(uid),
    ...more,
  });
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await running;
  });
  return { clock, api, seen: cache, manager };
}

t.test('a flush does not wait for the status of a replaced pod', async (t) => {
  const { clock, api, seen, manager } = setUp(t);
  seen.set('first', api.seed(pods, pod('first')));
  manager.set('first', { phase: 'Running' });
  await clock.advance(0);
  t.equal(api.get(pods, key)?.status?.phase, 'Running');

  api.remove(pods, key);
  api.seed(pods, pod('second'));
  manager.set('first', { phase: 'Succeeded' });
  let flushed = false;
  void manager.flush('first').then(() => {
    flushed = true;
  });
  await clock.advance(1000);
  t.notOk(flushed, 'the replacement has not been seen yet');
  seen.delete('first');
  await clock.advance(60_000);
  t.ok(flushed);
  t.equal(manager.get('first'), undefined);
  t.equal(api.get(pods, key)?.status?.phase, undefined, 'the second one has none of it');
});

t.test('a flush does not wait for a rejected status; temporary failures are retried', async (t) => {
  const { clock, api, seen, manager } = setUp(t);
  const q = { group: '', resource: 'pods' };
  const rows: [error: StatusError, isFlushed: boolean, isTriedAgain: boolean][] = [
    [badRequest('wrong in itself'), true, false],
    [forbidden(q, 'web', 'a hook says so'), true, true],
    [serviceUnavailable('not now'), false, true],
  ];
  for (const [error, isFlushed, isTriedAgain] of rows) {
    const uid = String(error.status.code);
    seen.set(uid, api.seed(pods, pod(uid)));
    let tries = 0;
    const restore = api.intercept(({ verb }) => {
      if (verb !== 'patch') return undefined;
      tries++;
      return error;
    });
    manager.set(uid, { phase: 'Running' });
    let flushed = false;
    void manager.flush(uid).then(() => {
      flushed = true;
    });
    await clock.advance(60_000);
    t.equal(flushed, isFlushed, uid);
    t.equal(tries > 2, isTriedAgain, uid);
    restore();
    manager.set(uid, { phase: 'Failed' });
    await clock.advance(600_000);
    t.equal(api.get(pods, key)?.status?.phase, 'Failed', 'another status is another matter');
    api.remove(pods, key);
  }
});

t.test('statuses of starting pods may be delayed, those of running and failed pods are not', async (t) => {
  let mayTell = false;
  const { clock, api, seen, manager } = setUp(t, { progress: { tryTake: () => mayTell } });
  const waiting = (reason: string): PodStatus => ({
    phase: 'Pending',
    hostIP: '10.0.0.1',
    containerStatuses: [
      { name: 'web', image: 'web', imageID: '', ready: false, restartCount: 0, state: { waiting: { reason } } },
    ],
  });
  seen.set('first', api.seed(pods, pod('first')));
  const currentStatus = () => api.get(pods, key)?.status;
  manager.set('first', waiting('ContainerCreating'));
  await clock.advance(5000);
  t.equal(currentStatus()?.hostIP, undefined);
  mayTell = true;
  await clock.advance(1000);
  t.equal(currentStatus()?.hostIP, '10.0.0.1', 'sent when the rate limit allows');

  mayTell = false;
  manager.set('first', waiting('PodInitializing'));
  await clock.advance(100);
  manager.set('first', waiting('ErrImagePull'));
  await clock.advance(100);
  t.equal(currentStatus()?.containerStatuses?.[0]?.state?.waiting?.reason, 'ErrImagePull');
  manager.set('first', { phase: 'Running' });
  await clock.advance(100);
  t.equal(currentStatus()?.phase, 'Running');

  manager.set('first', waiting('ContainerCreating'));
  let flushed = false;
  void manager.flush('first').then(() => {
    flushed = true;
  });
  await clock.advance(2000);
  t.ok(flushed, 'a flush does not wait for delayed statuses');
});
