/** Specification 1, 2.5, 4.5, 4.6 (watch) and 6: the events of watches, and their timing. */
import t from 'tap';
import type { TestEtcd } from '#test/etcd.js';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import {
  configMap,
  configMaps,
  dialect,
  forgetHistory,
  mergePatch,
  openStore,
  serveOver,
  startSpec,
  type WatchedEvent,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

/** Writes objects directly into the store, which is faster than requests. */
async function fillStore(etcd: TestEtcd, namespace: string, count: number, bytes: number): Promise<void> {
  const store = openStore(etcd);
  const filler = 'x'.repeat(bytes);
  const names = Array.from({ length: count }, (_, i) => `c${i}`);
  const waiting = names.values();
  const worker = async () => {
    for (const name of waiting) {
      const object = configMap(name, { filler }, { namespace, uid: `uid-${name}` });
      await store.create(`/registry/configmaps/${namespace}/${name}`, Buffer.from(JSON.stringify(object)));
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  await store.close();
}

const shown = (events: readonly WatchedEvent[]) => events.map(({ type, object }) => `${type} ${object.metadata.name}`);

// Many of these wait until a watch times out.
t.setTimeout(120_000);

t.test('watches', withEtcd, async (t) => {
  const { client: a, etcd } = await startSpec(t);
  const { client: b } = await serveOver(t, etcd);

  await covers(
    t,
    ['1 watches', '4.5.1', '4.5.2', '4.6 watch other', '2.5 type', '2.5 object', '6.1', '6.3'],
    'every change after the version, in order, and nothing else',
    async (t) => {
      const path = configMaps('changes');
      await a.make(path, configMap('before'));
      const { resourceVersion } = (await a.get(path)).json.metadata;
      const created = [];
      const watch = await b.watch(t, `${path}?watch=1&resourceVersion=${resourceVersion}`);
      t.equal(watch.status, 200);
      t.equal(watch.headers['content-type'], 'application/json');
      t.equal(watch.headers['transfer-encoding'], 'chunked');
      created.push(await a.make(path, configMap('x', { n: '1' })));
      created.push((await b.patch(`${path}/x`, mergePatch, { data: { n: '2' } })).json);
      created.push((await a.put(`${path}/x`, { ...created[1], data: { n: '3' } })).json);
      const applied = { 'content-type': 'application/apply-patch+yaml' };
      created.push((await a.patch(`${path}/x?fieldManager=m`, applied, configMap('x', { m: '1' }))).json);
      await a.make(configMaps('other'), configMap('not-here'));
      await b.delete(`${path}/x`);
      const events = await watch.until(5);
      t.same(shown(events), ['ADDED x', 'MODIFIED x', 'MODIFIED x', 'MODIFIED x', 'DELETED x']);
      for (const [i, object] of created.entries())
        t.same(events[i]?.object, object, 'the whole object with its version');
      const last = events[4]?.object;
      t.same(last.data, created[3].data, 'a deletion shows the last state');
      t.ok(BigInt(last.metadata.resourceVersion) > BigInt(created[3].metadata.resourceVersion), 'and its own version');
      watch.close();
    },
  );

  await covers(t, ['4.5.3'], 'a watch is resumed from the last version seen', async (t) => {
    const path = configMaps('resumed');
    const start = (await a.get(path)).json.metadata.resourceVersion;
    for (let i = 0; i < 10; i += 1) await a.make(path, configMap(`c${i}`));
    let version = start;
    const seen: string[] = [];
    while (seen.length < 10) {
      const client = seen.length % 2 === 0 ? a : b;
      const watch = await client.watch(t, `${path}?watch=1&resourceVersion=${version}`);
      const [event] = await watch.until(1);
      watch.close();
      version = event?.object.metadata.resourceVersion;
      seen.push(event?.object.metadata.name);
    }
    t.same(
      seen,
      Array.from({ length: 10 }, (_, i) => `c${i}`),
    );
  });

  await covers(t, ['4.6 watch unset', '4.6 watch 0', '6.1'], 'the state comes first, as ADDED events', async (t) => {
    const path = configMaps('state');
    for (const name of ['a', 'b', 'c']) await a.make(path, configMap(name));
    for (const version of ['', '&resourceVersion=', '&resourceVersion=0']) {
      const watch = await b.watch(t, `${path}?watch=true${version}`);
      t.same(shown(await watch.until(3)), ['ADDED a', 'ADDED b', 'ADDED c']);
      const { json } = await a.patch(`${path}/b`, mergePatch, { data: { seen: version } });
      t.same((await watch.until(4))[3], { type: 'MODIFIED', object: json });
      watch.close();
    }
    const none = await b.watch(t, `${configMaps('empty')}?watch=1&timeoutSeconds=1`);
    t.same(await none.end(), []);
    for (let i = 0; i < 10; i += 1) {
      const name = `n${i}`;
      await a.make(path, configMap(name));
      const watch = await b.watch(t, `${path}?watch=1`);
      t.ok(shown(await watch.until(4 + i)).includes(`ADDED ${name}`), 'most recent: not older than the request');
      watch.close();
    }
  });

  await covers(t, ['4.5.4', '6.3', '8 history'], 'forgotten versions end in an ERROR event with 410', async (t) => {
    const path = configMaps('forgotten');
    const start = (await a.get(path)).json.metadata.resourceVersion;
    await a.make(path, configMap('x'));
    await forgetHistory(etcd);
    const { client: late } = await serveOver(t, etcd);
    for (const version of ['1', start]) {
      const watch = await late.watch(t, `${path}?watch=1&resourceVersion=${version}`);
      t.equal(watch.status, 200);
      const events = await watch.end();
      t.equal(events.length, 1);
      t.match(events[0], {
        type: 'ERROR',
        object: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          code: 410,
          reason: 'Expired',
          message: new RegExp(`^too old resource version: ${version} \\(\\d+\\)$`),
        },
      });
    }
    const list = (await late.get(path)).json;
    const watch = await late.watch(t, `${path}?watch=1&resourceVersion=${list.metadata.resourceVersion}`);
    await a.delete(`${path}/x`);
    t.same(shown(await watch.until(1)), ['DELETED x'], 'list again and go on');
    watch.close();
    const kept = await a.watch(t, `${path}?watch=1&resourceVersion=${start}`);
    t.same(shown(await kept.until(2)), ['ADDED x', 'DELETED x'], 'a server that saw the changes has them');
    kept.close();
  });

  await covers(t, ['6.2', '2.5 object'], 'bookmarks on request, and one before the end', async (t) => {
    const path = configMaps('bookmarks');
    await a.make(path, configMap('x'));
    const start = (await a.get(path)).json.metadata.resourceVersion;
    const plain = await b.watch(t, `${path}?watch=1&resourceVersion=${start}&timeoutSeconds=3`);
    const marked = await b.watch(
      t,
      `${path}?watch=1&resourceVersion=${start}&timeoutSeconds=3&allowWatchBookmarks=true`,
    );
    // Changes of other objects advance the version although this watch does not see them.
    const other = await a.make('/api/v1/namespaces/elsewhere/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
    });
    const events = await marked.end();
    t.ok(events.length >= 1);
    for (const event of events) {
      t.match(event, { type: 'BOOKMARK', object: { kind: 'ConfigMap', apiVersion: 'v1' } });
      t.same(Object.keys(event.object.metadata), ['resourceVersion', 'creationTimestamp']);
      t.equal(event.object.metadata.creationTimestamp, null);
      t.same(Object.keys(event.object).sort(), ['apiVersion', 'kind', 'metadata']);
    }
    const version = events.at(-1)?.object.metadata.resourceVersion;
    t.ok(BigInt(version) >= BigInt(other.metadata.resourceVersion), 'etcd’s progress, not only the own changes');
    t.same(await plain.end(), [], 'only on request');
    const resumed = await a.watch(t, `${path}?watch=1&resourceVersion=${version}`);
    await a.delete(`${path}/x`);
    t.same(shown(await resumed.until(1)), ['DELETED x']);
    resumed.close();
    // Bookmarks have the form of the other events.
    await a.make('/api/v1/namespaces/elsewhere/secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 't' } });
    const form = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
    const metadata = await a.get(
      `${path}?watch=1&resourceVersion=${version}&timeoutSeconds=3&allowWatchBookmarks=true`,
      { accept: `${dialect.protobufMediaType};stream=watch;${form}` },
    );
    t.ok(metadata.text.includes('BOOKMARK') && metadata.text.includes('PartialObjectMetadata'));
    t.notOk(/\bConfigMap\b/.test(metadata.text));
  });

  await covers(t, ['6.2', '4.6 watch unset'], 'sendInitialEvents: the state, then a marked bookmark', async (t) => {
    const path = configMaps('initial');
    await a.make(path, configMap('x'));
    const version = (await a.make(path, configMap('y'))).metadata.resourceVersion;
    const common = 'watch=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    for (const from of ['', '0', version]) {
      const watch = await b.watch(t, `${path}?${common}&sendInitialEvents=true&resourceVersion=${from}`);
      const events = await watch.until(3);
      t.same(
        events.map(({ type }) => type),
        ['ADDED', 'ADDED', 'BOOKMARK'],
      );
      t.same(events[2]?.object.metadata.annotations, { [dialect.bookmarkAnnotation]: 'true' });
      t.ok(BigInt(events[2]?.object.metadata.resourceVersion) >= BigInt(version));
      watch.close();
    }
    for (const from of ['', '0', version]) {
      const watch = await b.watch(t, `${path}?${common}&sendInitialEvents=false&resourceVersion=${from}`);
      await a.patch(`${path}/x`, mergePatch, { data: { from: `f${from}` } });
      t.same(shown(await watch.until(from === version ? 3 : 1)).at(-1), 'MODIFIED x', 'only new changes');
      watch.close();
    }
    const refusals = [
      ['watch=1&sendInitialEvents=true', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'],
      ['watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1', 'resourceVersionMatch is forbidden for watch'],
    ];
    for (const [query, detail] of refusals) {
      const { json } = await a.get(`${path}?${query}`);
      t.match(json, { code: 422, reason: 'Invalid', details: { causes: [{ message: `Forbidden: ${detail}` }] } });
    }
    t.equal((await a.get(`${path}?sendInitialEvents=true`)).json.code, 422, 'not for lists');
  });

  await covers(t, ['2.5 type'], 'objects that start or stop matching a selector', async (t) => {
    const path = configMaps('selected');
    const start = (await a.get(path)).json.metadata.resourceVersion;
    const selecting = await b.watch(t, `${path}?watch=1&resourceVersion=${start}&labelSelector=in%20in%20(yes,sure)`);
    const named = await b.watch(t, `${path}?watch=1&resourceVersion=${start}&fieldSelector=metadata.name=y`);
    const label = (value: string | null) =>
      a.patch(`${path}/x`, mergePatch, { metadata: { labels: { in: value } }, data: { at: String(value) } });
    await a.make(path, configMap('x'));
    await a.make(path, configMap('y', {}, { labels: { in: 'no' } }));
    await label('yes');
    await label('sure');
    const out = (await label('no')).json;
    await label('yes');
    await a.delete(`${path}/x`);
    await a.delete(`${path}/y`);
    const events = await selecting.until(5);
    t.same(shown(events), ['ADDED x', 'MODIFIED x', 'DELETED x', 'ADDED x', 'DELETED x']);
    t.equal(events[2]?.object.metadata.labels.in, 'sure', 'the last state that matched');
    t.equal(events[2]?.object.metadata.resourceVersion, out.metadata.resourceVersion, 'with the version of the change');
    t.same(shown(await named.until(2)), ['ADDED y', 'DELETED y']);
    selecting.close();
    named.close();
    const initial = await b.watch(t, `${path}?watch=1&labelSelector=in&timeoutSeconds=1`);
    t.same(await initial.end(), [], 'objects that do not match are not in the state');
    for (const query of ['labelSelector=a%20b', 'fieldSelector=data.x=1', 'timeoutSeconds=soon']) {
      t.match((await a.get(`${path}?watch=1&${query}`)).json, { code: 400, reason: 'BadRequest' }, query);
    }
  });

  await covers(
    t,
    ['4.5.3'],
    'a client that does not read is disconnected and resumes from its last version',
    async (t) => {
      const path = configMaps('slow');
      const start = (await a.get(path)).json.metadata.resourceVersion;
      const watch = await b.watch(t, `${path}?watch=1&resourceVersion=${start}`);
      watch.pause();
      // More than the server buffers for a watcher, and more than sockets hold.
      const count = 1500;
      await fillStore(etcd, 'slow', count, 20_000);
      watch.resume();
      const events = [...(await watch.end())];
      t.ok(events.length < count, 'the server has disconnected it');
      t.notOk(
        events.some(({ type }) => type === 'ERROR'),
        'without an error',
      );
      const version = events.at(-1)?.object.metadata.resourceVersion ?? start;
      const rest = await b.watch(t, `${path}?watch=1&resourceVersion=${version}`);
      await rest.until(count - events.length);
      const all = [...events, ...rest.events];
      t.equal(new Set(all.map(({ object }) => object.metadata.name)).size, count, 'nothing is missing');
      t.equal(all.length, count, 'and no event comes twice');
      const revisions = all.map(({ object }) => BigInt(object.metadata.resourceVersion));
      t.ok(revisions.every((revision, i) => i === 0 || revision > (revisions[i - 1] ?? 0n)));
      rest.close();
    },
  );

  await covers(t, ['4.5.2'], 'timeoutSeconds ends a watch without an error', async (t) => {
    const watch = await a.watch(t, `${configMaps('none')}?watch=1&timeoutSeconds=1`);
    t.same(await watch.end(), []);
    const one = await a.watch(t, `${configMaps('state').replace('/v1/', '/v1/watch/')}/a?timeoutSeconds=1`);
    t.same(shown(await one.end()), ['ADDED a'], 'one object’s path');
    t.match((await a.get(`${configMaps('state')}/a?watch=1`)).json, { kind: 'ConfigMap' }, 'an object is got');
    t.match((await a.get(`${configMaps('state')}?watch=0`)).json, { kind: 'ConfigMapList' }, 'watch=0 is a list');
    t.match(
      (await a.get(`${configMaps('state')}?watch=false`)).json,
      { kind: 'ConfigMapList' },
      'watch=false is a list',
    );
  });
});
