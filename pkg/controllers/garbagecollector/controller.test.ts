import t, { type Test } from 'tap';
import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import type { ConfigMap } from '#api/core/v1/types.gen.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { forbidden, serviceUnavailable } from '#apimachinery/errors/status.js';
import type { ApiObject, DeleteOptions } from '#client/client.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { GarbageCollector } from '#controllers/garbagecollector/controller.js';

function setUp(t: Test) {
  const harness = new Harness(t, [configmaps, secrets, customresourcedefinitions, apiservices]);
  const { api } = harness;
  const seed = (name: string, owners: ApiObject[] = [], more: Partial<OwnerReference> = {}) =>
    api.seed<ConfigMap>(configmaps, {
      metadata: {
        name,
        namespace: 'default',
        ownerReferences: owners.map(({ metadata: { name: owner = '', uid = '' } }) => ({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          name: owner,
          uid,
          ...more,
        })),
      },
    });
  const collector = new GarbageCollector(harness.context, { concurrency: 5 });
  const start = async () => {
    await harness.start(collector);
    await harness.advance(1000);
  };
  const names = () =>
    api
      .list(configmaps)
      .map(({ metadata }) => metadata.name)
      .sort();
  const edit = (name: string, change: (map: Draft<ConfigMap>) => void) =>
    api.change(configmaps, `default/${name}`, change);
  return { harness, api, seed, start, names, edit, collector };
}

const gone: ApiObject = { metadata: { name: 'gone', uid: 'no-such-uid' } };

t.test('objects with an owner stay, objects without are deleted, recursively', async (t) => {
  const { harness, api, seed, start, names, collector } = setUp(t);
  const root = seed('root');
  const child = seed('child', [root]);
  seed('grandchild', [child]);
  seed('stray', [gone]);
  seed('half', [gone, root]);
  await start();
  t.same(names(), ['child', 'grandchild', 'half', 'root']);
  t.same(
    api.get(configmaps, 'default/half')?.metadata.ownerReferences?.map(({ name }) => name),
    ['root'],
  );
  api.remove(configmaps, 'default/root');
  await harness.advance(1000);
  t.same(names(), []);
  t.equal(collector.size, 0);
  api.verify();
});

t.test('a cache of another controller is shared', async (t) => {
  const { harness, api, seed, start, names } = setUp(t);
  const maps = harness.informers.informer(configmaps);
  const owner = seed('owner');
  seed('child', [owner]);
  await start();
  const watched = (resource: string) => api.calls.filter((call) => call.verb === 'watch' && call.resource === resource);
  t.equal(watched('configmaps').length, 1);
  t.equal(watched('secrets').length, 1);
  t.equal(maps.size, 2);
  api.remove(configmaps, 'default/owner');
  await harness.advance(1000);
  t.same(names(), []);
});

t.test('only changes of owners are observed', async (t) => {
  const { harness, api, seed, start, names, edit } = setUp(t);
  const root = seed('root');
  seed('child', [root]);
  await start();
  edit('child', (map) => {
    map.data = { a: '1' };
  });
  await harness.advance(1000);
  edit('child', ({ metadata }) => {
    metadata.ownerReferences = [];
  });
  await harness.advance(1000);
  api.remove(configmaps, 'default/root');
  await harness.advance(1000);
  t.same(names(), ['child']);
});

t.test('an owner with the same name but another UID does not count', async (t) => {
  const { seed, start, names } = setUp(t);
  seed('owner');
  seed('child', [{ metadata: { name: 'owner', uid: 'that-of-its-predecessor' } }]);
  await start();
  t.same(names(), ['owner']);
});

t.test('a missing owner is confirmed with the API server', async (t) => {
  const { harness, api, seed, start, names } = setUp(t);
  await start();
  const heal = harness.freeze('configmaps');
  const owner = seed('owner');
  api.seed(secrets, {
    metadata: {
      name: 'child',
      namespace: 'default',
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid ?? '' }],
    },
  });
  await harness.advance(60_000);
  t.equal(api.list(secrets).length, 1, 'the owner exists, though the cache does not show it');
  heal();
  await harness.advance(60_000);
  t.same(names(), ['owner']);
  t.equal(api.list(secrets).length, 1);
});

t.test('failures are retried until the garbage is gone', async (t) => {
  const { harness, api, seed, start, names } = setUp(t);
  const q = { group: '', resource: 'configmaps' };
  seed('stray', [gone]);
  const heal = [
    harness.fail((call) => call.verb === 'get', serviceUnavailable('down')),
    harness.fail((call) => call.verb === 'delete', forbidden(q, 'stray', 'not now')),
  ];
  await start();
  heal[0]?.();
  await harness.advance(60_000);
  t.same(names(), ['stray']);
  heal[1]?.();
  await harness.advance(600_000);
  t.same(names(), []);
  t.ok(api);
});

t.test('an object that gets an owner before the delete stays', async (t) => {
  const { harness, api, seed, start, names, edit } = setUp(t);
  const owner = seed('owner');
  seed('child', [gone]);
  let saved = false;
  api.intercept((call) => {
    if (call.verb === 'delete' && !saved) {
      saved = true;
      edit('child', (map) => {
        map.metadata.ownerReferences = [
          { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid ?? '' },
        ];
      });
    }
    return undefined;
  });
  await start();
  await harness.advance(60_000);
  t.ok(saved);
  t.same(names(), ['child', 'owner']);
});

t.test('in foreground deletion the owner is deleted last', async (t) => {
  const { harness, api, seed, start, names, edit } = setUp(t);
  const owner = seed('owner');
  const child = seed('child', [owner], { blockOwnerDeletion: true });
  seed('grandchild', [child], { blockOwnerDeletion: true });
  edit('grandchild', (map) => {
    map.metadata.finalizers = ['test.io/hold'];
  });
  await start();
  const deleteInForeground = (name: string) =>
    edit(name, (map) => {
      map.metadata.deletionTimestamp = '2022-05-03T00:00:00Z';
      map.metadata.finalizers = [...(map.metadata.finalizers ?? []), 'foregroundDeletion'];
    });
  // Real servers turn the policy into a finalizer.
  api.intercept((call) => {
    const foreground = (call.body as DeleteOptions | undefined)?.propagationPolicy === 'Foreground';
    return call.verb === 'delete' && foreground ? deleteInForeground(call.name ?? '') : undefined;
  });
  deleteInForeground('owner');
  await harness.advance(1000);
  t.same(names(), ['child', 'grandchild', 'owner']);
  edit('grandchild', (map) => {
    map.metadata.finalizers = [];
  });
  await harness.advance(60_000);
  t.same(names(), []);
});

t.test('dependents are orphaned before their owner is deleted', async (t) => {
  const { harness, api, seed, start, names, edit } = setUp(t);
  const owner = seed('owner');
  seed('child', [owner]);
  await start();
  edit('owner', (map) => {
    map.metadata.deletionTimestamp = '2022-05-03T00:00:00Z';
    map.metadata.finalizers = ['orphan'];
  });
  await harness.advance(10_000);
  t.same(names(), ['child']);
  t.same(api.get(configmaps, 'default/child')?.metadata.ownerReferences ?? [], []);
});

t.test('a reference across namespaces is recorded and does not protect', async (t) => {
  const { harness, api, seed, start, names } = setUp(t);
  const owner = api.seed<ConfigMap>(configmaps, { metadata: { name: 'owner', namespace: 'other' } });
  seed('child', [owner]);
  await start();
  await harness.advance(10_000);
  t.same(names(), ['owner']);
  t.ok(harness.events.some((event) => event.startsWith('Warning OwnerRefInvalidNamespace child')));
});
