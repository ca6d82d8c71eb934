import t from 'tap';
import { deployments } from '#api/apps/v1/resources.gen.js';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import {
  hasReason,
  isAlreadyExists,
  isConflict,
  isExpired,
  isNotFound,
  serverTimeout,
} from '#apimachinery/errors/status.js';
import type { WatchEvent } from '#client/client.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

function newApi() {
  return new FakeApi({ dialect: orchDialect, clock: new VirtualClock(), resources: [pods, nodes] });
}

function pod(name: string, labels: Record<string, string> = {}): Pod {
  return { metadata: { name, namespace: 'default', labels }, spec: { containers: [{ name: 'c' }] } } as Pod;
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('did not reject');
}

t.test('create, read, update, delete with versions', async (t) => {
  const api = newApi();
  const client = api.client.resource(pods);
  const created = await client.create(pod('a', { app: 'web' }));
  t.match(created, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', uid: String, generation: 1 } });
  t.ok(isAlreadyExists(await rejection(client.create(pod('a')))));
  t.equal((await client.get('a', { namespace: 'default' })).metadata.uid, created.metadata.uid);
  const updated = await client.updateStatus({ ...created, status: { phase: 'Running' } });
  t.match(updated, { status: { phase: 'Running' }, metadata: { generation: 1 } });
  t.ok(isConflict(await rejection(client.update(created))), 'stale version');
  await client.delete('a', { namespace: 'default', preconditions: { uid: created.metadata.uid ?? '' } });
  t.ok(isNotFound(await rejection(client.get('a', { namespace: 'default' }))));
  t.same(api.takeWrites(), [
    'create pods default/a',
    'create pods default/a',
    'update pods/status default/a',
    'update pods default/a',
    'delete pods default/a',
  ]);
  api.verify();
});

t.test('an update leaves the status unchanged, a status update the rest', async (t) => {
  const api = newApi();
  api.seed(pods, { ...pod('a'), status: { phase: 'Running' } });
  const client = api.client.resource(pods);
  const read = await client.get('a', { namespace: 'default' });
  const edited = { ...read, spec: { ...read.spec, nodeName: 'n' }, status: { phase: 'Failed' } };
  t.match(await client.update(edited), {
    spec: { nodeName: 'n' },
    status: { phase: 'Running' },
    metadata: { generation: 2 },
  });
});

t.test('patches', async (t) => {
  const api = newApi();
  const key = { namespace: 'default' };
  api.seed(pods, { ...pod('a'), status: { conditions: [{ type: 'A', status: 'True' }] } });
  const client = api.client.resource(pods);
  const merged = await client.patch(
    'a',
    { metadata: { labels: { x: 'y' }, annotations: null } },
    { ...key, type: 'merge' },
  );
  t.same(merged.metadata.labels, { x: 'y' });
  const conditions = [
    { type: 'B', status: 'False' },
    { type: 'A', status: 'False' },
  ];
  const strategic = await client.patch(
    'a',
    { status: { conditions } },
    { ...key, type: 'strategic', subresource: 'status' },
  );
  t.same(strategic.status?.conditions?.map((item) => `${item.type} ${item.status}`).sort(), ['A False', 'B False']);
  const json = await client.patch('a', [{ op: 'replace', path: '/metadata/labels/x', value: 'z' }], {
    ...key,
    type: 'json',
  });
  t.same(json.metadata.labels, { x: 'z' });
});

t.test('finalizers keep a deleted object', async (t) => {
  const api = newApi();
  api.seed(pods, { ...pod('a'), metadata: { name: 'a', namespace: 'default', finalizers: ['f'] } });
  const client = api.client.resource(pods);
  await client.delete('a', { namespace: 'default' });
  const marked = api.get(pods, 'default/a');
  t.ok(marked?.metadata.deletionTimestamp);
  await client.patch('a', { metadata: { finalizers: null } }, { namespace: 'default', type: 'merge' });
  t.equal(api.get(pods, 'default/a'), undefined);
});

t.test('lists and watches select', async (t) => {
  const api = newApi();
  api.seed(pods, pod('a', { app: 'web' }));
  api.seed(pods, pod('b', { app: 'db' }));
  const client = api.client.resource(pods);
  const list = await client.list({ labelSelector: 'app in (web)' });
  t.same(
    list.items.map((item) => [item.kind, item.metadata.name]),
    [['Pod', 'a']],
  );
  t.equal((await client.list({ fieldSelector: 'metadata.name=b', namespace: 'default' })).items.length, 1);
  t.equal((await client.list({ namespace: 'other' })).items.length, 0);
  const stop = new AbortController();
  const events: string[] = [];
  const watch = client.watch({
    resourceVersion: list.metadata?.resourceVersion ?? '',
    labelSelector: 'app=web',
    signal: stop.signal,
  });
  const watching = (async () => {
    for await (const event of watch) {
      events.push(`${event.type} ${event.object.metadata.name}`);
      if (events.length === 3) stop.abort();
    }
  })();
  api.change(pods, 'default/a', (object) => {
    object.status = { phase: 'Running' };
  });
  api.seed(pods, pod('c'));
  api.seed(pods, pod('d', { app: 'web' }));
  api.remove(pods, 'default/d');
  await watching;
  t.same(events, ['MODIFIED a', 'ADDED d', 'DELETED d']);
});

t.test('an expired version gives 410, a dropped watch ends', async (t) => {
  const api = newApi();
  api.seed(pods, pod('a'));
  const client = api.client.resource(pods);
  const { metadata } = await client.list();
  const watch = client.watch({ resourceVersion: metadata?.resourceVersion ?? '' })[Symbol.asyncIterator]();
  const next = watch.next();
  await new Promise(setImmediate);
  api.dropWatches();
  t.same(await next, { done: true, value: undefined });
  api.compact();
  const again: AsyncIterator<WatchEvent<Pod>> = client
    .watch({ resourceVersion: metadata?.resourceVersion ?? '' })
    [Symbol.asyncIterator]();
  t.ok(isExpired(await rejection(again.next())));
});

t.test('interceptors take precedence', async (t) => {
  const api = newApi();
  const remove = api.intercept((call) =>
    call.verb === 'create' ? serverTimeout({ group: '', resource: 'pods' }, 'create', 0) : undefined,
  );
  const client = api.client.resource(pods);
  t.ok(hasReason(await rejection(client.create(pod('a'))), 'ServerTimeout'));
  remove();
  await client.create(pod('a'));
  api.intercept((call) => {
    if (call.subresource !== 'binding') return undefined;
    api.change(pods, 'default/a', (object) => {
      object.spec = { ...object.spec, nodeName: 'n1' };
    });
    return { kind: 'Status', status: 'Success' };
  });
  await client.createSubresource('a', 'binding', { target: { name: 'n1' } }, { namespace: 'default' });
  t.equal(api.get(pods, 'default/a')?.spec.nodeName, 'n1');
  t.match(api.calls.at(-1)?.body, { apiVersion: 'v1', kind: 'Binding', target: { name: 'n1' } });
});

t.test('requests without a handler are unexpected', async (t) => {
  const api = newApi();
  t.ok(isNotFound(await rejection(api.client.resource(deployments).list())));
  const eviction = api.client.resource(pods).createSubresource('a', 'eviction', {}, { namespace: 'default' });
  t.ok(hasReason(await rejection(eviction), 'MethodNotAllowed'));
  t.throws(() => api.verify(), /list deployments[\s\S]*create pods\/eviction default\/a/);
});
