import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { badRequest, forbidden, type StatusError, serviceUnavailable } from '#apimachinery/errors/status.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { StatusManager } from '#nodeagent/status/manager.js';

const key = 'default/web';
const pod = (uid: string): Pod => ({
  metadata: { name: 'web', namespace: 'default', uid },
  spec: { containers: [{ name: 'web', image: 'web' }] },
});

function setUp(t: { teardown(fn: () => unknown): void }) {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: [pods] });
  const seen = new Map<string, Pod>();
  const manager = new StatusManager({
    client: api.client,
    clock,
    log: silentLogger,
    getPod: (uid) => seen.get(uid),
  });
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await running;
  });
  return { clock, api, seen, manager };
}

t.test('nobody waits for the status of a pod in whose place there is another one', async (t) => {
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
  t.notOk(flushed, 'as far as is known here the first one is still there');
  seen.delete('first');
  await clock.advance(60_000);
  t.ok(flushed);
  t.equal(manager.get('first'), undefined);
  t.equal(api.get(pods, key)?.status?.phase, undefined, 'the second one has none of it');
});

t.test('nobody waits for a status that the API refuses; what it cannot take now is tried again', async (t) => {
  const { clock, api, seen, manager } = setUp(t);
  const q = { group: '', resource: 'pods' };
  const rows: [error: StatusError, isFlushed: boolean, isTriedAgain: boolean][] = [
    [badRequest('wrong in itself'), true, false],
    [forbidden(q, 'web', 'a hook says so'), true, true],
    [serviceUnavailable('later'), false, true],
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
