import t from 'tap';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { StatusManager } from '#nodeagent/status/manager.js';

const key = 'default/web';
const pod = (uid: string): Pod => ({
  metadata: { name: 'web', namespace: 'default', uid },
  spec: { containers: [{ name: 'web', image: 'web' }] },
});

t.test('nobody waits for the status of a pod in whose place there is another one', async (t) => {
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
