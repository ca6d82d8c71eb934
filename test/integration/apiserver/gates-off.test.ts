/** The server with the gates off that are on in 1.24, against the answers of release 1.24.17. */
import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

const path = '/api/v1/namespaces/default/configmaps';
const managed = [{ manager: 'x', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} }];

async function fill(server: ApiServer, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const body = { metadata: { name: `c${i}`, managedFields: managed }, data: { text: 'a'.repeat(20_000) } };
    await call(server, 'POST', path, { body });
  }
}

const off = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, false]));

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`${dialect.name}: without APIListChunking lists are whole`, async (t) => {
    const server = await startServer(t, { dialect, gates: off('APIListChunking') });
    await fill(server, 3);
    for (const query of [
      'limit=1',
      'limit=1&continue=bogus',
      'continue=bogus&resourceVersion=1',
      'limit=1&resourceVersion=1',
      'limit=-1',
    ]) {
      const { status, json } = await call(server, 'GET', `${path}?${query}`);
      t.equal(status, 200, query);
      t.equal(json.items.length, 3, query);
      t.same(Object.keys(json.metadata), ['resourceVersion'], query);
    }
    const malformed = await call(server, 'GET', `${path}?limit=x`);
    t.match(malformed, { status: 400, json: { message: 'strconv.ParseInt: parsing "x": invalid syntax' } });
    const mixed = await call(server, 'GET', `${path}?continue=x&resourceVersion=5&resourceVersionMatch=Exact`);
    t.match(mixed.json, {
      message: `ListOptions.${dialect.groupName('meta')} "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided`,
    });
    const removed = await call(server, 'DELETE', `${path}?limit=1`);
    t.equal(removed.json.items.length, 3, 'deletes the whole collection');
  });

  t.test(`${dialect.name}: without RemainingItemCount lists do not count what remains`, async (t) => {
    const server = await startServer(t, { dialect, gates: off('RemainingItemCount') });
    await fill(server, 3);
    const { json } = await call(server, 'GET', `${path}?limit=1`);
    t.same(Object.keys(json.metadata), ['resourceVersion', 'continue']);
    const next = await call(server, 'GET', `${path}?limit=5&continue=${json.metadata.continue}`);
    t.equal(next.json.items.length, 2);
  });

  t.test(`${dialect.name}: without DryRun nothing can be tried`, async (t) => {
    const server = await startServer(t, { dialect, gates: off('DryRun') });
    await fill(server, 1);
    const refused = { status: 400, json: { reason: 'BadRequest', message: 'the dryRun feature is disabled' } };
    const patch = { 'content-type': 'application/merge-patch+json' };
    const rows: [string, string, Readonly<Record<string, string>>][] = [
      ['POST', `${path}?dryRun=All`, {}],
      ['POST', `${path}?dryRun=`, {}],
      ['PUT', `${path}/c0?dryRun=All`, {}],
      ['PATCH', `${path}/c0?dryRun=All`, patch],
      ['DELETE', `${path}/c0?dryRun=All`, {}],
      ['DELETE', `${path}?dryRun=All`, {}],
    ];
    for (const [method, url, headers] of rows) {
      t.match(await call(server, method, url, { headers, body: {} }), refused, `${method} ${url}`);
    }
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] };
    t.equal(
      (await call(server, 'DELETE', `${path}/c0`, { body })).status,
      200,
      'options in the body are not looked at',
    );
    t.equal((await call(server, 'GET', `${path}/c0`)).status, 200, 'and are tried only');
  });

  t.test(`${dialect.name}: without ServerSideApply nothing is applied, and fields have no managers`, async (t) => {
    const server = await startServer(t, { dialect, gates: off('ServerSideApply') });
    await fill(server, 1);
    t.equal((await call(server, 'GET', `${path}/c0`)).json.metadata.managedFields, undefined);
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    const applied = await call(server, 'PATCH', `${path}/c0?fieldManager=m`, { headers, body: '{}' });
    t.match(applied, { status: 415, json: { reason: 'UnsupportedMediaType' } });
    const merged = await call(server, 'PATCH', `${path}/c0`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { data: { b: '2' } },
    });
    t.match(merged, { status: 200, json: { data: { b: '2' } } });
    t.equal(merged.json.metadata.managedFields, undefined);
    const { json } = await call(server, 'GET', '/openapi/v2');
    t.same(json.paths[`${path.replace('default', '{namespace}')}/{name}`].patch.consumes, [
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/strategic-merge-patch+json',
    ]);
  });

  t.test(`${dialect.name}: without APIResponseCompression only documents of schemas are compressed`, async (t) => {
    const headers = { 'accept-encoding': 'gzip' };
    const encodings = async (server: ApiServer) => {
      await fill(server, 10);
      const urls = [path, `${path}?limit=9`, '/api/v1', '/openapi/v2'];
      const answers = await Promise.all(urls.map((url) => call(server, 'GET', url, { headers })));
      return answers.map((answer) => answer.headers['content-encoding']);
    };
    t.same((await encodings(await startServer(t, { dialect }))).slice(0, 2), ['gzip', 'gzip']);
    const server = await startServer(t, { dialect, gates: off('APIResponseCompression') });
    t.same(await encodings(server), [undefined, undefined, undefined, 'gzip']);
  });

  t.test(`${dialect.name}: without OpenAPIV3, OpenAPIEnums and StorageVersionHash documents lack them`, async (t) => {
    const gates = off('OpenAPIV3', 'OpenAPIEnums', 'StorageVersionHash');
    const server = await startServer(t, { dialect, gates });
    const usual = await startServer(t, { dialect });
    for (const url of ['/openapi/v3', '/openapi/v3/', '/openapi/v3/api/v1']) {
      t.match(await call(server, 'GET', url), { status: 404, text: '404 page not found\n' }, url);
    }
    t.same(
      (await call(server, 'GET', '/')).json.paths.filter((each: string) => each.startsWith('/openapi')),
      ['/openapi/v2'],
    );
    t.notMatch((await call(server, 'GET', '/api/v1')).text, /storageVersionHash/);
    t.match((await call(usual, 'GET', '/api/v1')).text, /storageVersionHash/);
    const [without, withThem] = await Promise.all([server, usual].map((each) => call(each, 'GET', '/openapi/v2')));
    t.match(withThem?.text, /"enum":\[/);
    t.notMatch(without?.text, /"enum":\[/);
    t.not(without?.headers['etag'], withThem?.headers['etag'], 'another document has another tag');
  });
}
