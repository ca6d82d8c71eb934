/** The client, informers, events and leader election against a real API server, over HTTPS and in process. */

import { once } from 'node:events';
import t, { type Test } from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { configmaps, events, namespaces } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { Client, WatchEvent } from '#client/client.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { LeaderElector } from '#client/leaderelection/leader-elector.js';
import { LeaseLock } from '#client/leaderelection/lock.js';
import { connect } from '#client/rest/client-config.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { startServer } from '#test/integration/apiserver/server.js';

const random = Math.random;

async function clients(t: Test): Promise<Record<'https' | 'protobuf' | 'local', Client>> {
  const server = await startServer(t, { dialect, https: true });
  const config = {
    server: `https://127.0.0.1:${server.address?.port}`,
    insecureSkipVerify: true,
    namespace: 'default',
  };
  const https = connect(config, { dialect, clock });
  const protobuf = connect(config, { dialect, clock, contentType: dialect.protobufMediaType });
  const local = new RestClient({ transport: new InProcessTransport({ handler: server.handler }), dialect, clock });
  t.teardown(() => Promise.all([https.close(), protobuf.close(), local.close()]));
  await https.resource(namespaces).create({ metadata: { name: 'default' }, spec: {} });
  return { https, protobuf, local };
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('did not reject');
}

/** Resolves when `condition` holds, checked after each change of its informer. */
async function until(condition: () => boolean, changes: EventTarget): Promise<void> {
  const patience = AbortSignal.timeout(60_000);
  while (!condition()) await once(changes, 'change', { signal: patience });
}

t.test('sends all verbs', async (t) => {
  for (const [name, client] of Object.entries(await clients(t))) {
    const maps = client.resource(configmaps);
    const key = { namespace: 'default' };
    const created = await maps.create({ metadata: { name, ...key }, data: { a: '1' } });
    t.match(created, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, uid: String } });
    t.ok(isAlreadyExists(await rejection(maps.create({ metadata: { name, ...key } }))));
    const updated = await maps.update({ ...created, data: { a: '2' } });
    t.ok(isConflict(await rejection(maps.update({ ...created, data: { a: '3' } }))));
    const patched = await maps.patch(name, { data: { b: '4' } }, { ...key, type: 'merge' });
    t.same(patched.data, { a: '2', b: '4' });
    t.not(patched.metadata.resourceVersion, updated.metadata.resourceVersion);
    const list = await maps.list({ ...key, fieldSelector: `metadata.name=${name}` });
    t.same(
      list.items.map((item) => [item.kind, item.metadata.name]),
      [['ConfigMap', name]],
    );
    await maps.delete(name, { ...key, preconditions: { uid: created.metadata.uid ?? '' } });
    t.ok(isNotFound(await rejection(maps.get(name, key))));
    t.match(await client.request('GET', '/version'), { major: '1', minor: '24' });
  }
});

t.test('a watch continues after a list', async (t) => {
  for (const [name, client] of Object.entries(await clients(t))) {
    const maps = client.resource(configmaps);
    const { metadata } = await maps.list({ namespace: 'default' });
    const resourceVersion = metadata?.resourceVersion ?? '';
    const created = await maps.create({ metadata: { name, namespace: 'default' } });
    await maps.update({ ...created, data: { a: '1' } });
    await maps.delete(name, { namespace: 'default' });
    const seen: WatchEvent<ConfigMap>['type'][] = [];
    for await (const event of maps.watch({ namespace: 'default', resourceVersion })) {
      if (event.type === 'BOOKMARK') continue;
      seen.push(event.type);
      if (event.type === 'DELETED') break;
    }
    t.same(seen, ['ADDED', 'MODIFIED', 'DELETED'], name);
  }
});

t.test('informers follow the server, also with paged lists', async (t) => {
  const all = await clients(t);
  const writer = all.local.resource(configmaps);
  for (let i = 0; i < 30; i += 1) await writer.create({ metadata: { name: `m${i}`, namespace: 'default' } });
  for (const client of Object.values(all)) {
    const factory = new SharedInformerFactory({ client, clock, random, log });
    const informer = factory.informer(configmaps);
    const changes = new EventTarget();
    const changed = () => changes.dispatchEvent(new Event('change'));
    informer.addHandler({ onAdd: changed, onUpdate: changed, onDelete: changed });
    const stop = new AbortController();
    const running = factory.start(stop.signal);
    await factory.waitForSync(AbortSignal.timeout(60_000));
    const size = informer.size;
    t.ok(size >= 30);
    await writer.patch('m7', { data: { x: String(random()) } }, { namespace: 'default', type: 'merge' });
    const version = (await writer.get('m7', { namespace: 'default' })).metadata.resourceVersion;
    await until(() => informer.get('default/m7')?.metadata.resourceVersion === version, changes);
    await writer.create({ metadata: { name: 'extra', namespace: 'default' } });
    await until(() => informer.size === size + 1, changes);
    await writer.delete('extra', { namespace: 'default' });
    await until(() => informer.size === size, changes);
    stop.abort();
    await running;
  }
});

t.test('the server stores events with their counts', async (t) => {
  const { https } = await clients(t);
  const recorder = new ApiEventRecorder({ client: https, source: { component: 'tester' }, clock, random, log });
  const target = await https.resource(configmaps).create({ metadata: { name: 'a', namespace: 'default' } });
  for (let i = 0; i < 3; i += 1) recorder.record(target, 'Normal', 'Tested', 'it works');
  await recorder.close();
  const { items } = await https.resource(events).list({ namespace: 'default', fieldSelector: 'reason=Tested' });
  t.equal(items.length, 1);
  t.match(items[0], {
    count: 3,
    type: 'Normal',
    message: 'it works',
    involvedObject: { kind: 'ConfigMap', name: 'a' },
    source: { component: 'tester' },
  });
});

t.test('another candidate leads when the leader stops', async (t) => {
  const { https, local } = await clients(t);
  const elect = (client: Client, identity: string) =>
    new LeaderElector({
      lock: new LeaseLock({ client, namespace: 'default', name: 'lock' }),
      identity,
      leaseDurationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 50,
      clock,
      random,
      log,
    });
  const order: string[] = [];
  const candidates = [elect(https, 'a'), elect(local, 'b')].map((elector, index) => {
    const stop = new AbortController();
    const started = new Promise<void>((resolve) => {
      const finished = elector.run(async (signal) => {
        order.push(index === 0 ? 'a' : 'b');
        resolve();
        await once(signal, 'abort');
      }, stop.signal);
      t.teardown(() => {
        stop.abort();
        return finished;
      });
    });
    return { stop, started };
  });
  await Promise.race(candidates.map(({ started }) => started));
  const [first] = order;
  const leader = candidates[first === 'a' ? 0 : 1];
  const other = candidates[first === 'a' ? 1 : 0];
  const before = await https.resource(leases).get('lock', { namespace: 'default' });
  t.match(before.spec, { holderIdentity: first, leaseDurationSeconds: 15, leaseTransitions: 0 });
  leader?.stop.abort();
  await other?.started;
  t.same(order.length, 2);
  const after = await https.resource(leases).get('lock', { namespace: 'default' });
  t.match(after.spec, { holderIdentity: order[1], leaseTransitions: 1 });
});
