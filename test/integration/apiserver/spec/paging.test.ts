/** Specification 1, 2.4 and 4.4: collections, whole and in chunks. */
import t from 'tap';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import {
  configMap,
  configMaps,
  forgetHistory,
  namesOf,
  type SpecClient,
  serveOver,
  startSpec,
  withEtcd,
} from '#test/integration/apiserver/spec/spec-server.js';

const inconsistent =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
  'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
  'deleted between the time the first chunk was returned and now may show up in the list.';

async function fill(client: SpecClient, path: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `c${String(i).padStart(2, '0')}`);
  for (const [i, name] of names.entries()) {
    await client.make(path, configMap(name, {}, { labels: { parity: i % 2 === 0 ? 'even' : 'odd' } }));
  }
  return names;
}

t.test('paging', withEtcd, async (t) => {
  const { client: a, etcd } = await startSpec(t);
  const { client: b } = await serveOver(t, etcd);

  await covers(
    t,
    ['1 lists', '2.4 kind', '2.4 apiVersion', '2.4 resourceVersion', '2.4 items'],
    'a list',
    async (t) => {
      const path = configMaps('shape');
      const empty = (await a.get(path)).json;
      t.match(empty, { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: /^\d+$/ } });
      t.strictSame(empty.items, []);
      const names = await fill(a, path, 3);
      const list = (await a.get(path)).json;
      t.same(namesOf(list), names);
      t.same(Object.keys(list.metadata), ['resourceVersion'], 'no token and no count where the list is whole');
      const rows: [string, string, string][] = [
        ['/api/v1/pods', 'PodList', 'v1'],
        ['/api/v1/nodes', 'NodeList', 'v1'],
        ['/api/v1/services', 'ServiceList', 'v1'],
        ['/apis/apps/v1/deployments', 'DeploymentList', 'apps/v1'],
        ['/apis/events.k8s.io/v1/events', 'EventList', 'events.k8s.io/v1'],
      ];
      for (const [url, kind, apiVersion] of rows) t.match((await a.get(url)).json, { kind, apiVersion }, url);
    },
  );

  await covers(
    t,
    ['4.4.1', '4.4.2', '4.4.3', '2.4 continue', '2.4 remainingItemCount', '8 paging', '9.3 remaining'],
    'chunks',
    async (t) => {
      const path = configMaps('chunks');
      const names = await fill(a, path, 7);
      for (const limit of [1, 2, 3, 6, 7, 8, 500]) {
        const seen: string[] = [];
        let token = '';
        for (;;) {
          const client = seen.length % 2 === 0 ? a : b;
          const { metadata, ...list } = (await client.get(`${path}?limit=${limit}&continue=${token}`)).json;
          seen.push(...namesOf(list));
          t.ok(list.items.length <= limit);
          const left = names.length - seen.length;
          t.equal(metadata.remainingItemCount, left === 0 ? undefined : left);
          token = metadata.continue ?? '';
          t.equal(token === '', left === 0);
          if (token === '') break;
        }
        t.same(seen, names, `limit=${limit}`);
      }
      t.equal((await a.get(`${path}?limit=0`)).json.items.length, 7, 'none');
      t.equal((await a.get(`${path}?limit=-1`)).json.items.length, 7, 'none');
      t.match((await a.get(`${path}?limit=many`)).json, {
        code: 400,
        message: 'strconv.ParseInt: parsing "many": invalid syntax',
      });
    },
  );

  await covers(t, ['2.4 remainingItemCount', '4.4.2'], 'selectors suppress the count', async (t) => {
    const path = configMaps('selected');
    const names = await fill(a, path, 9);
    const seen: string[] = [];
    let token = '';
    do {
      const page = (await a.get(`${path}?limit=2&labelSelector=parity=even&continue=${token}`)).json;
      t.equal(page.metadata.remainingItemCount, undefined);
      seen.push(...namesOf(page));
      token = page.metadata.continue ?? '';
    } while (token !== '');
    t.same(
      seen,
      names.filter((_, i) => i % 2 === 0),
    );
    const byField = (await a.get(`${path}?limit=2&fieldSelector=metadata.name!=c00`)).json;
    t.ok(byField.metadata.continue);
    t.equal(byField.metadata.remainingItemCount, undefined);
  });

  await covers(t, ['4.4.4'], 'chunks are one snapshot, from which a watch can continue', async (t) => {
    const path = configMaps('snapshot');
    const names = await fill(a, path, 6);
    const first = (await a.get(`${path}?limit=2`)).json;
    const writes = [
      a.delete(`${path}/c03`),
      b.make(path, configMap('c02a')),
      b.put(`${path}/c05`, configMap('c05', { changed: 'yes' })),
      a.make(path, configMap('zz')),
    ];
    await Promise.all(writes);
    let page = first;
    const items = [...first.items];
    while (page.metadata.continue) {
      page = (await b.get(`${path}?limit=2&continue=${page.metadata.continue}`)).json;
      t.equal(page.metadata.resourceVersion, first.metadata.resourceVersion);
      items.push(...page.items);
    }
    t.same(namesOf({ items }), names, 'deleted objects are listed, new ones are not');
    t.equal(items.at(-1).data, undefined, 'changed objects have their old contents');
    const watch = await b.watch(t, `${path}?watch=1&resourceVersion=${first.metadata.resourceVersion}`);
    const events = await watch.until(writes.length);
    t.same(
      new Set(events.map(({ type, object }) => `${type} ${object.metadata.name}`)),
      new Set(['DELETED c03', 'ADDED c02a', 'MODIFIED c05', 'ADDED zz']),
    );
    watch.close();
    t.same(namesOf((await a.get(path)).json), ['c00', 'c01', 'c02', 'c02a', 'c04', 'c05', 'zz'], 'a new list');
  });

  await covers(t, ['4.4.5', '8 tokens'], 'an expired token gives 410 and a token to continue', async (t) => {
    const path = configMaps('expired');
    await fill(a, path, 5);
    const { metadata } = (await a.get(`${path}?limit=2`)).json;
    await a.make(path, configMap('c02a'));
    await forgetHistory(etcd);
    // A server without a snapshot of that list has only the store's history, which is compacted.
    const { client: c } = await serveOver(t, etcd);
    const gone = await c.get(`${path}?limit=2&continue=${metadata.continue}`);
    t.equal(gone.status, 410);
    t.match(gone.json, { kind: 'Status', status: 'Failure', code: 410, reason: 'Expired', message: inconsistent });
    const next = gone.json.metadata.continue;
    t.type(next, 'string');
    const rest = (await c.get(`${path}?limit=2&continue=${next}`)).json;
    t.same(namesOf(rest), ['c02', 'c02a'], 'from the same key, at the newest version');
    t.not(rest.metadata.resourceVersion, metadata.resourceVersion);
    const last = (await c.get(`${path}?limit=9&continue=${rest.metadata.continue}`)).json;
    t.same(namesOf(last), ['c03', 'c04']);
    t.equal(last.metadata.resourceVersion, rest.metadata.resourceVersion, 'consistent again');
    t.equal((await c.get(path)).json.items.length, 6, 'or without limit');
  });

  await covers(t, ['4.4.3'], 'forged tokens', async (t) => {
    const path = configMaps('forged');
    await fill(a, path, 3);
    const token: string = (await a.get(`${path}?limit=1`)).json.metadata.continue;
    const other = await a.get(`${configMaps('elsewhere')}?limit=1&continue=${token}`);
    t.match(other.json, {
      code: 400,
      reason: 'BadRequest',
      message: /^invalid continue token: continue key is not valid/,
    });
    const forged = ['x', 'e30', `${token}x`, Buffer.from('{"v":"meta.v1","rv":0,"start":"a"}').toString('base64url')];
    for (const text of forged) {
      const { json } = await a.get(`${path}?limit=1&continue=${text}`);
      t.match(json, { code: 400, reason: 'BadRequest', message: /^invalid continue token: / }, text);
    }
  });
});
