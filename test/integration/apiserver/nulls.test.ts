/** Null members in every form of response. */
import t from 'tap';
import { parse } from 'yaml';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { call, startServer } from '#test/integration/apiserver/server.js';

const path = '/apis/apps/v1/namespaces/default/deployments';
const labels = { a: 'b' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const body = { metadata: { name: 'one' }, spec: { selector: { matchLabels: labels }, template } };
const accept = (type: string) => ({ headers: { accept: type } });
const meta = 'v=v1;g=meta.k8s.io';

t.test('get, list and watch return nulls in JSON and YAML', async (t) => {
  const server = await startServer(t);
  const created = (await call(server, 'POST', path, { body })).json;
  const { metadata, spec } = created.spec.template;
  t.strictSame([metadata, spec.containers[0].resources], [{ creationTimestamp: null, labels }, {}]);
  t.strictSame((await call(server, 'GET', `${path}/one`)).json, created);
  t.strictSame((await call(server, 'GET', `${path}/one?pretty=1`)).json, created);
  t.strictSame(parse((await call(server, 'GET', `${path}/one`, accept('application/yaml'))).text), created);
  const { kind, apiVersion, ...item } = created;
  for (const query of ['', '?pretty=1']) {
    t.strictSame((await call(server, 'GET', `${path}${query}`)).json.items, [item]);
  }
  t.strictSame(parse((await call(server, 'GET', path, accept('application/yaml'))).text).items, [item]);
  const table = accept(`application/json;as=Table;${meta}`);
  t.strictSame((await call(server, 'GET', `${path}?includeObject=Object`, table)).json.rows[0].object, created);
  const events = (await call(server, 'GET', `${path}?watch=1&timeoutSeconds=1`)).text.trim().split('\n');
  t.strictSame(
    events.map((line) => JSON.parse(line)),
    [{ type: 'ADDED', object: { kind, apiVersion, ...item } }],
  );
});

t.test('null and the zero time from clients mean the same', async (t) => {
  const server = await startServer(t);
  for (const [i, creationTimestamp] of [null, undefined, '0001-01-01T00:00:00Z'].entries()) {
    const dated = { ...template, metadata: { ...template.metadata, creationTimestamp } };
    const sent = { ...body, metadata: { name: `d${i}` }, spec: { ...body.spec, template: dated } };
    const created = (await call(server, 'POST', path, { body: sent })).json;
    t.equal(created.spec.template.metadata.creationTimestamp, null);
    // Writing the same object keeps its version.
    t.strictSame((await call(server, 'PUT', `${path}/d${i}`, { body: created })).json, created);
    const status = { ...created, status: { observedGeneration: 1 } };
    const reported = (await call(server, 'PUT', `${path}/d${i}/status`, { body: status })).json;
    t.strictSame(reported.spec, created.spec);
    t.equal(reported.status.observedGeneration, 1);
  }
});

t.test('Protobuf, which lacks null, returns the same object', async (t) => {
  const server = await startServer(t);
  const { json: created } = await call(server, 'POST', path, { body });
  const protobuf = kubernetesDialect.protobufMediaType;
  const response = await server.handler({
    method: 'GET',
    url: `${path}/one`,
    headers: { accept: protobuf },
    body: Buffer.alloc(0),
    remoteAddress: '127.0.0.1',
    signal: new AbortController().signal,
  });
  const headers = { 'content-type': protobuf };
  const sent = response.body as Buffer;
  t.strictSame(
    (await call(server, 'PUT', `${path}/one`, { body: sent, headers })).json,
    created,
    'nothing has changed',
  );
});

t.test('bookmarks have the members that every object of their kind has', async (t) => {
  const server = await startServer(t);
  const query =
    '?watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
  const text = (await call(server, 'GET', `/apis/batch/v1/cronjobs${query}`)).text.trim();
  const { type, object } = JSON.parse(text.split('\n')[0] ?? '');
  t.equal(type, 'BOOKMARK');
  const empty = { metadata: { creationTimestamp: null }, spec: { containers: null } };
  const jobTemplate = { metadata: { creationTimestamp: null }, spec: { template: empty } };
  t.strictSame(
    [object.metadata.creationTimestamp, object.spec, object.status],
    [null, { schedule: '', jobTemplate }, {}],
  );
});
