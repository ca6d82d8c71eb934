/** Unusual resource versions, gates and parameters in writes, reads and deletions behave as in 1.24. */
import t from 'tap';
import { call, startServer } from '#test/integration/apiserver/server.js';

const configmaps = '/api/v1/namespaces/default/configmaps';

/** A config map with that resource version. */
function named(name: string, resourceVersion?: string, data?: object): object {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, resourceVersion }, data };
}

t.test('a resource version in a created object', async (t) => {
  const server = await startServer(t);
  const post = (name: string, version: string, query = '') =>
    call(server, 'POST', `${configmaps}${query}`, { body: named(name, version) });
  const dry = await post('dry', '17', '?dryRun=All');
  t.match(dry.json, { kind: 'ConfigMap', metadata: { resourceVersion: '17' } });
  t.equal(dry.status, 201, 'a dry run ignores it');
  for (const none of ['0', '00', 'abc', '-1']) {
    t.equal((await post(`x${none}`, none)).status, 201, `${none} is ignored`);
    t.equal((await post(`x${none}`, none)).json.reason, 'AlreadyExists');
  }
  const refusal = {
    status: 'Failure',
    message: 'resourceVersion should not be set on objects to be created',
    code: 500,
  };
  for (const name of ['new', 'x0']) t.match((await post(name, '17')).json, refusal, name);
  t.notOk('reason' in (await post('new', '17')).json, 'without a reason');
  t.match((await post('Not_Valid', '17')).json, { code: 422 }, 'validation comes first');
});

t.test('a resource version in an updated object', async (t) => {
  const server = await startServer(t);
  await call(server, 'POST', configmaps, { body: named('a') });
  const put = (version: string, x: string) =>
    call(server, 'PUT', `${configmaps}/a`, { body: named('a', version, { x }) });
  const headers = { 'content-type': 'application/merge-patch+json' };
  const patch = (resourceVersion: string | null, x: string) =>
    call(server, 'PATCH', `${configmaps}/a`, { headers, body: { metadata: { resourceVersion }, data: { x } } });
  for (const [i, write] of [put, patch].entries()) {
    for (const none of ['0', '00', ''])
      t.match((await write(none, `${i}${none}`)).json.data, { x: `${i}${none}` }, none);
    const { resourceVersion } = (await call(server, 'GET', `${configmaps}/a`)).json.metadata;
    t.equal((await write(`0${resourceVersion}`, `${i}same`)).status, 200, 'versions are compared as numbers');
    t.match((await write('1', 'old')).json, { code: 409, reason: 'Conflict' });
    const bad = (await write('abc', 'bad')).json;
    t.match(bad, { code: 500, message: 'strconv.ParseUint: parsing "abc": invalid syntax' });
    t.notOk('reason' in bad);
  }
  t.equal((await patch(null, 'last')).status, 200);
  const lease = { kind: 'CSIDriver', apiVersion: 'storage.k8s.io/v1', metadata: { name: 'd', resourceVersion: '0' } };
  const drivers = '/apis/storage.k8s.io/v1/csidrivers';
  t.equal((await call(server, 'POST', drivers, { body: { ...lease, spec: {} } })).status, 201);
  t.match((await call(server, 'PUT', `${drivers}/d`, { body: { ...lease, spec: {} } })).json, {
    code: 422,
    message:
      'csidrivers.storage.k8s.io "d" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update',
  });
});

t.test('a resource version in an apply or put of a missing object', async (t) => {
  const server = await startServer(t);
  const apply = (name: string, version: string) =>
    call(server, 'PATCH', `${configmaps}/${name}?fieldManager=m`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: named(name, version),
    });
  t.equal((await apply('a', '0')).status, 201);
  t.equal((await apply('b', '7')).status, 201);
  t.match((await apply('c', 'abc')).json, { code: 500, message: 'strconv.ParseUint: parsing "abc": invalid syntax' });
  t.equal((await apply('a', '0')).status, 200);
});

t.test('fieldValidation does nothing while its gate is off', async (t) => {
  const server = await startServer(t);
  const body = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"oddity":1,"data":{"x":"1","x":"2"}}';
  const merge = { 'content-type': 'application/merge-patch+json' };
  const json = { 'content-type': 'application/json-patch+json' };
  for (const mode of ['', 'Strict', 'Warn', 'Ignore']) {
    const query = `?dryRun=All&fieldValidation=${mode}`;
    const created = await call(server, 'POST', `${configmaps}${query}`, {
      body,
      headers: { 'content-type': 'application/json' },
    });
    t.match(created, { status: 201, json: { data: { x: '2' } } }, `${mode}: ${created.text}`);
    t.equal(created.headers['warning'], undefined);
    await call(server, 'POST', configmaps, { body: named('a') });
    const merged = await call(server, 'PATCH', `${configmaps}/a${query}`, {
      headers: merge,
      body: '{"oddity":1,"oddity":2}',
    });
    t.equal(merged.status, 200);
    t.equal(merged.headers['warning'], undefined);
    const operation = { op: 'add', path: '/oddity', value: 1, other: 1 };
    const added = await call(server, 'PATCH', `${configmaps}/a${query}`, { headers: json, body: [operation] });
    t.equal(added.status, 200);
    t.equal(added.headers['warning'], undefined);
    await call(server, 'DELETE', `${configmaps}/a`);
  }
  t.equal((await call(server, 'POST', `${configmaps}?fieldValidation=Maybe`, { body: named('a') })).status, 422);
  const gated = await startServer(t, { gates: { ServerSideFieldValidation: true } });
  for (const [of, offered] of [
    [server, false],
    [gated, true],
  ] as const) {
    const { paths } = (await call(of, 'GET', '/openapi/v2')).json;
    const { parameters } = paths['/api/v1/namespaces/{namespace}/configmaps'].post;
    t.equal(JSON.stringify(parameters).includes('fieldValidation'), offered, 'OpenAPI reflects the gate');
  }
});

t.test('options of patches are validated together', async (t) => {
  const server = await startServer(t);
  const patch = async (type: string, query: string) => {
    const headers = { 'content-type': `application/${type}` };
    const { json } = await call(server, 'PATCH', `${configmaps}/a?${query}`, { headers, body: {} });
    return json.details?.causes?.map(({ field }: { field: string }) => field);
  };
  t.same(await patch('apply-patch+yaml', 'dryRun=x&fieldValidation=y'), ['fieldManager', 'dryRun', 'fieldValidation']);
  t.same(await patch('merge-patch+json', 'force=false&dryRun=x'), ['force', 'dryRun']);
});

t.test('options of deletions', async (t) => {
  const server = await startServer(t);
  await call(server, 'POST', configmaps, { body: named('a') });
  const remove = (query: string, body?: unknown) =>
    call(server, 'DELETE', `${configmaps}/a?dryRun=All&${query}`, { body });
  const rows: [query: string, body: unknown, code: number, message?: string][] = [
    ['uid=x', undefined, 409],
    ['resourceVersion=1', undefined, 409],
    ['gracePeriodSeconds=', undefined, 400, 'strconv.ParseInt: parsing "": invalid syntax'],
    ['propagationPolicy=', undefined, 422],
    [
      '',
      { gracePeriodSeconds: 'x' },
      500,
      'json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    ],
    [
      '',
      { kind: 'Foo', apiVersion: 'v1' },
      500,
      'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:100"',
    ],
    ['', { kind: 'DeleteOptions', apiVersion: 'apps/v1' }, 200],
    ['', { unknown: 1 }, 200],
  ];
  for (const [query, body, code, message] of rows) {
    const answer = await remove(query, body);
    t.equal(answer.status, code, `${query} ${JSON.stringify(body)}: ${answer.text}`);
    if (message !== undefined) t.equal(answer.json.message, message);
  }
  const get = (query: string) => call(server, 'GET', `${configmaps}/a?${query}`);
  t.match((await get('export')).json, { code: 400, message: /export parameter, deprecated since v1.14, is no longer/ });
  t.equal((await get('export=false')).status, 200);
});
