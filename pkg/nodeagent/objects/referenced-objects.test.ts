import t, { type Test } from 'tap';
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';
import { type ChangeDetection, ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';

const minuteMs = 60_000;
const place = { namespace: 'default', name: 'cfg' };

function setUp(t: Test, detection?: ChangeDetection) {
  const clock = new VirtualClock();
  const api = new FakeApi({ dialect: orchDialect, clock, resources: [configmaps, secrets] });
  const log: string[] = [];
  api.intercept(({ verb, resource }) => {
    log.push(`${verb} ${resource}`);
    return undefined;
  });
  const options = { client: api.client, clock, random: () => 0.5, log: silentLogger };
  const objects = new ReferencedObjects({ ...options, ...(detection === undefined ? {} : { detection }) });
  t.teardown(() => objects.close());
  const changed: string[] = [];
  objects.onChange((uid) => changed.push(uid));
  const seed = (text: string, more: Partial<ConfigMap> = {}) =>
    api.seed(configmaps, { metadata: { ...place }, data: { text }, ...more });
  const change = (text: string) =>
    api.change(configmaps, 'default/cfg', (object) => {
      object.data = { text };
    });
  const read = async (uid = 'u') => (await objects.get<ConfigMap>(configmaps, place, uid))?.data?.['text'];
  /** Returns the API requests since the previous call. */
  const requests = () => log.splice(0);
  return { clock, api, objects, changed, seed, change, read, requests };
}

t.test('one watch per object serves all pods', async (t) => {
  const { clock, objects, changed, seed, change, read, requests } = setUp(t);
  seed('1');
  t.same(await Promise.all([read('a'), read('b')]), ['1', '1']);
  change('2');
  await clock.advanceUntil(() => changed.length > 0);
  t.same(changed, ['a', 'b']);
  t.equal(await read(), '2');
  t.same(requests(), ['watch configmaps']);
  for (const uid of ['a', 'b', 'u']) objects.release(uid);
  t.equal(objects.size, 0);
});

t.test('without streaming lists a server is listed, and streaming is not retried', async (t) => {
  const { api, seed, read, requests, objects } = setUp(t);
  api.streamsInitialState = false;
  seed('1');
  t.equal(await read(), '1');
  t.same(requests().slice(0, 2), ['watch configmaps', 'list configmaps']);
  t.equal(await objects.get(configmaps, { ...place, name: 'other' }, 'u'), undefined);
  t.notOk(requests().includes('watch configmaps') && requests().length > 3);
});

t.test('immutable objects are read once', async (t) => {
  const { clock, api, changed, seed, read, requests } = setUp(t);
  seed('1', { immutable: true });
  t.equal(await read(), '1');
  api.remove(configmaps, 'default/cfg');
  await clock.advance(10 * minuteMs);
  t.equal(await read(), '1');
  t.same(requests(), ['watch configmaps']);
  t.same(changed, []);
});

t.test('a cached object expires, and is read anew for new pods', async (t) => {
  const { clock, api, objects, seed, change, read, requests } = setUp(t, {
    strategy: 'Cache',
    ttlMs: () => minuteMs,
  });
  t.equal(await read(), undefined);
  seed('1');
  t.equal(await read(), '1', 'a missing object is read again');
  change('2');
  t.equal(await read(), '1');
  t.equal(requests().length, 2);
  t.equal(await read('new'), '2');
  change('3');
  await clock.advance(minuteMs);
  t.same(await Promise.all([read(), read('new')]), ['3', '3']);
  t.same(requests(), ['get configmaps', 'get configmaps']);
  await clock.advance(minuteMs);
  const stop = api.intercept(() => serviceUnavailable('not now'));
  t.equal(await read(), '3', 'after a failure the old object is used');
  await t.rejects(objects.get(secrets, { ...place, name: 'unread' }, 'u'), /failed to sync secret cache: not now/);
  stop();
  api.remove(configmaps, 'default/cfg');
  t.equal(await read(), undefined);
});

t.test('without caching every access reads', async (t) => {
  const { seed, change, read } = setUp(t, { strategy: 'Get' });
  seed('1');
  t.equal(await read(), '1');
  change('2');
  t.equal(await read(), '2');
});
