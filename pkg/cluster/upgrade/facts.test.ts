import t from 'tap';
import { schemeFor } from '#api/scheme.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { deprecatedIn, freeBytes } from '#cluster/upgrade/facts.js';
import { readStoredObjects } from '#cluster/upgrade/stored-objects.js';
import { MemoryStore } from '#storage/memory/memory-store.js';

t.test('every stored object is checked', async (t) => {
  const store = new MemoryStore({ clock: new VirtualClock() });
  const put = (key: string, value: string) => store.create(`/registry/${key}`, Buffer.from(value));
  const object = (apiVersion: string, kind: string, more = '') =>
    `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":{"name":"x"}${more}}`;
  for (let n = 0; n < 250; n++) await put(`configmaps/default/c${n}`, object('v1', 'ConfigMap'));
  const versions = '"versions":[{"name":"v1","served":true,"storage":true}]';
  const spec = `,"spec":{"group":"a.example.com","names":{"kind":"Thing","plural":"things"},${versions}}`;
  const definition = object(orchDialect.apiVersion('apiextensions', 'v1'), 'CustomResourceDefinition', spec);
  // Objects may come before their definition.
  await put('a.example.com/things/default/one', object('a.example.com/v1', 'Thing'));
  await put('apiextensions/customresourcedefinitions/things.a.example.com', definition);
  await put('a.example.com/things/default/two', object('a.example.com/v2', 'Thing'));
  await put('secrets/default/s', 'k8s:enc:aescbc:v1:key:\u0000\u0001');
  await put('secrets/default/t', 'orch:enc:aescbc:v1:key:\u0000\u0001');
  await put('pods/default/p', '{"kind":"Pod","apiVersion":"v1","metadata":{"name":');
  await put('pods/default/q', object('v1', 'Pod').replace('"name"', 'name'));
  for (const own of ['watch-progress', 'compact_rev_key', 'masterleases/192.0.2.1']) await put(own, '');
  const progress: number[] = [];
  const result = await readStoredObjects(store, {
    ...{ prefix: '/registry/', scheme: schemeFor(orchDialect) },
    onProgress: (objects) => progress.push(objects),
  });
  t.equal(result.objects, 257);
  t.equal(result.encrypted, 2);
  t.match(result.unreadable, [
    { key: '/registry/pods/default/p', problem: 'not an object in JSON' },
    { key: '/registry/pods/default/q', problem: /JSON/ },
  ]);
  t.same(result.unknownTypes, [{ type: 'a.example.com/v2 Thing', objects: 1 }]);
  t.equal(progress.at(-1), 257);
  t.ok(progress.length > 1, 'page by page');
});

t.test('requested deprecated APIs are read from the metrics', async (t) => {
  const line = (labels: string) => `apiserver_requested_deprecated_apis{${labels}} 1\n`;
  const text = [
    '# HELP apiserver_requested_deprecated_apis text\n',
    line('group="batch",version="v1beta1",resource="cronjobs",subresource="",removed_release="1.25"'),
    line('group="",version="v1",resource="componentstatuses",subresource="",removed_release=""'),
    'apiserver_request_total{group="batch"} 1\n',
  ].join('');
  t.same(deprecatedIn(text), [{ name: 'cronjobs.batch/v1beta1', removedIn: 'v1.25' }]);
});

t.test('free space is measured for a folder that does not exist', async (t) => {
  t.ok((await freeBytes(`${t.testdir()}/not/there`)) > 0);
});
