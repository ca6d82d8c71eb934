/** Specification 1, 2.8 and 4.3: events as a resource in both of their groups. */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import { mergePatch, namesOf, serveOver, startSpec, withEtcd } from '#test/integration/apiserver/spec/spec-server.js';

const group = orchDialect.groupName('events');
const all = `/apis/${group}/v1/events`;
const pathIn = (namespace: string) => `/apis/${group}/v1/namespaces/${namespace}/events`;
const event = (name: string, namespace: string, more: object = {}) => ({
  apiVersion: `${group}/v1`,
  kind: 'Event',
  metadata: { name, namespace },
  eventTime: '2024-05-01T12:00:00.000001Z',
  action: 'Pulling',
  reason: 'Pulled',
  note: 'said',
  type: 'Normal',
  regarding: { kind: 'Pod', namespace, name: 'p' },
  reportingController: 'example.com/tester',
  reportingInstance: 'tester-1',
  ...more,
});

t.test('events', withEtcd, async (t) => {
  const { client, etcd } = await startSpec(t, { dialect: orchDialect });
  const path = pathIn('default');

  await covers(t, ['4.3 create', '6.4', '4.3 get'], 'create and get', async (t) => {
    const created = await client.post(`${path}?pretty=true`, event('one', 'default'));
    t.equal(created.status, 201);
    t.match(created.json, event('one', 'default'));
    t.match(created.text, /^\{\n/);
    t.same((await client.get(`${path}/one`)).json, created.json);
    t.match((await client.get(`${path}/none`)).json, {
      code: 404,
      message: `events.${group} "none" not found`,
      details: { name: 'none', group, kind: 'events' },
    });
    const tried = await client.post(`${path}?dryRun=All`, event('tried', 'default'));
    t.equal(tried.status, 201);
    t.equal((await client.get(`${path}/tried`)).status, 404);
  });

  await covers(t, ['4.3 list namespace', '4.3 list all', '2.8 list'], 'lists, pages and watches', async (t) => {
    await client.make(path, event('two', 'default'));
    await client.make(pathIn('other'), event('three', 'other'));
    const list = (await client.get(path)).json;
    t.match(list, { kind: 'EventList', apiVersion: `${group}/v1` });
    t.same(namesOf(list), ['one', 'two']);
    t.same(namesOf((await client.get(all)).json), ['one', 'two', 'three']);
    t.strictSame((await client.get(pathIn('empty'))).json.items, []);
    const first = (await client.get(`${all}?limit=2`)).json;
    t.equal(first.metadata.remainingItemCount, 1);
    t.same(namesOf((await client.get(`${all}?limit=2&continue=${first.metadata.continue}`)).json), ['three']);
    const watch = await client.watch(t, `${path}?watch=1&resourceVersion=${list.metadata.resourceVersion}`);
    const created = await client.make(path, event('four', 'default'));
    t.same(await watch.until(1), [{ type: 'ADDED', object: created }]);
    watch.close();
    t.match((await client.get(`${path}?pretty=1`)).text, /^\{\n/);
    const selected = await client.get(`${path}?fieldSelector=regarding.name=p,reason=Pulled,metadata.name!=one`);
    t.same(namesOf(selected.json), ['four', 'two']);
    t.match((await client.get(`${path}?fieldSelector=note=said`)).json, {
      code: 400,
      message: 'field label not supported: note',
    });
  });

  await covers(t, ['4.3 update', '3.2'], 'update: only the series changes', async (t) => {
    const { json } = await client.get(`${path}/one`);
    const series = { count: 2, lastObservedTime: '2024-05-01T12:00:01.000000Z' };
    const updated = await client.put(`${path}/one?pretty=true`, { ...json, series });
    t.equal(updated.status, 200);
    t.same(updated.json.series, series);
    const changed = await client.put(`${path}/one`, { ...updated.json, note: 'other' });
    t.match(changed.json, {
      code: 422,
      reason: 'Invalid',
      message: /message: Invalid value: "other": field is immutable/,
    });
    const created = await client.put(`${path}/put`, event('put', 'default'));
    t.equal(created.status, 201, 'a missing event is created');
    const tried = await client.put(`${path}/tried?dryRun=All`, event('tried', 'default'));
    t.equal(tried.status, 201);
    t.equal((await client.get(`${path}/tried`)).status, 404);
  });

  await covers(t, ['4.3 patch'], 'patch', async (t) => {
    const series = { count: 3, lastObservedTime: '2024-05-01T12:00:02.000000Z' };
    const patched = await client.patch(`${path}/one`, mergePatch, { series });
    t.equal(patched.status, 200);
    t.same(patched.json.series, series);
    const tried = await client.patch(`${path}/one?dryRun=All&pretty=true`, mergePatch, { series: { count: 9 } });
    t.equal(tried.json.series.count, 9);
    t.equal((await client.get(`${path}/one`)).json.series.count, 3);
    t.match((await client.patch(`${path}/one?force=true`, mergePatch, { series })).json, {
      code: 422,
      message: /force: Forbidden: may not be specified for non-apply patch/,
    });
    const apply = { 'content-type': 'application/apply-patch+yaml' };
    const applied = await client.patch(`${path}/applied?fieldManager=m`, apply, event('applied', 'default'));
    t.equal(applied.status, 201, applied.text);
    const forced = await client.patch(
      `${path}/applied?fieldManager=n&force=true`,
      apply,
      event('applied', 'default', { series }),
    );
    t.equal(forced.status, 200, forced.text);
  });

  await covers(t, ['4.3 delete', '4.3 deletecollection'], 'delete: a Status', async (t) => {
    const { metadata } = (await client.get(`${path}/two`)).json;
    t.match((await client.delete(`${path}/two?dryRun=All`)).json, { kind: 'Status', status: 'Success' });
    const deleted = await client.delete(`${path}/two?pretty=true`);
    t.equal(deleted.status, 200);
    t.same(deleted.json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'two', group, kind: 'events', uid: metadata.uid },
    });
    const before = namesOf((await client.get(path)).json);
    t.match((await client.delete(`${path}?dryRun=All`)).json, { kind: 'Status', status: 'Success' });
    t.same(namesOf((await client.get(path)).json), before);
    const one = await client.delete(`${path}?limit=1`);
    t.match(one.json, { kind: 'Status', status: 'Success' });
    t.equal((await client.get(path)).json.items.length, before.length - 1);
    await client.delete(path);
    t.same((await client.get(path)).json.items, []);
    t.equal((await client.get(pathIn('other'))).json.items.length, 1, 'no other namespace');
  });

  await covers(t, ['1 events', '3.2'], 'two views of one object', async (t) => {
    const core = '/api/v1/namespaces/views/events';
    const newer = pathIn('views');
    const created = await client.make(newer, event('e', 'views'));
    const old = (await client.get(`${core}/e`)).json;
    t.match(old, {
      apiVersion: 'v1',
      kind: 'Event',
      involvedObject: { name: 'p' },
      message: 'said',
      reportingComponent: 'example.com/tester',
    });
    t.same(old.metadata.uid, created.metadata.uid);
    t.equal(old.metadata.resourceVersion, created.metadata.resourceVersion);
    const watches = [await client.watch(t, `${core}?watch=1`), await client.watch(t, `${newer}?watch=1`)];
    const put = await client.put(`${core}/e`, { ...old, count: 5 });
    t.equal(put.status, 200, put.text);
    t.equal((await client.get(`${newer}/e`)).json.deprecatedCount, 5);
    for (const watch of watches) {
      const events = await watch.until(2);
      t.equal(events[1]?.object.metadata.resourceVersion, put.json.metadata.resourceVersion);
      watch.close();
    }
    await client.delete(`${core}/e`);
    t.equal((await client.get(`${newer}/e`)).status, 404);
  });

  await covers(t, ['1 events'], 'events expire', async (t) => {
    const { client: short } = await serveOver(t, etcd, { dialect: orchDialect, options: { eventTTLSeconds: 1 } });
    await short.make(pathIn('brief'), event('gone', 'brief'));
    await client.make(pathIn('brief'), event('stays', 'brief'));
    await until(async () => namesOf((await client.get(pathIn('brief'))).json).join() === 'stays');
    t.pass('the store no longer has it');
    const watch = await short.watch(t, `${pathIn('brief')}?watch=1`);
    await short.make(pathIn('brief'), event('again', 'brief'));
    const events = await watch.until(3);
    t.same(
      events.map(({ type }) => type),
      ['ADDED', 'ADDED', 'DELETED'],
      'and watches see it',
    );
    watch.close();
  });
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await realClock.sleep(50, new AbortController().signal);
}
