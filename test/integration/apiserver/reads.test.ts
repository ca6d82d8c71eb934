import { connect } from 'node:http2';
import t from 'tap';
import { WebSocket } from 'ws';
import { decodeProtobuf } from '#apimachinery/codec/protobuf/protobuf.js';
import { WatchFrameReader } from '#apimachinery/codec/watch-event-frames.js';
import { orchDialect } from '#apimachinery/dialect.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { call, callHttps, startServer } from '#test/integration/apiserver/server.js';

const path = '/api/v1/namespaces/default/configmaps';

async function fill(server: ApiServer, count: number, size = 1): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const name = `c${String(i).padStart(3, '0')}`;
    const labels = { parity: i % 2 === 0 ? 'even' : 'odd' };
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data: { x: 'y'.repeat(size) } };
    const { status } = await call(server, 'POST', path, { body });
    if (status !== 201) throw new Error(`create gave ${status}`);
  }
}

const names = (list: { items: { metadata: { name: string } }[] }) => list.items.map((item) => item.metadata.name);

t.test('all pages come from one snapshot', async (t) => {
  const server = await startServer(t);
  await fill(server, 5);
  const first = (await call(server, 'GET', `${path}?limit=2`)).json;
  t.same(names(first), ['c000', 'c001']);
  t.equal(first.metadata.remainingItemCount, 3);
  await call(server, 'DELETE', `${path}/c003`);
  const second = (await call(server, 'GET', `${path}?limit=2&continue=${first.metadata.continue}`)).json;
  t.same(names(second), ['c002', 'c003'], 'objects deleted meanwhile are still listed');
  t.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
  const third = (await call(server, 'GET', `${path}?limit=2&continue=${second.metadata.continue}`)).json;
  t.same(names(third), ['c004']);
  t.notOk(third.metadata.continue);
});

t.test('selectors', async (t) => {
  const server = await startServer(t);
  await fill(server, 4);
  const rows: [string, string[] | number][] = [
    ['labelSelector=parity=even', ['c000', 'c002']],
    ['labelSelector=parity%20in%20(odd)', ['c001', 'c003']],
    ['labelSelector=!parity', []],
    ['fieldSelector=metadata.name=c001', ['c001']],
    ['fieldSelector=metadata.name!=c001&labelSelector=parity=odd', ['c003']],
    ['fieldSelector=data.x=y', 400],
    ['labelSelector=a%20b', 400],
  ];
  for (const [query, expected] of rows) {
    const answer = await call(server, 'GET', `${path}?${query}`);
    if (typeof expected === 'number') t.equal(answer.status, expected, query);
    else t.same(names(answer.json), expected, query);
  }
});

t.test('representations of an object and of a list', async (t) => {
  const server = await startServer(t);
  await fill(server, 2);
  const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const list = await call(server, 'GET', path, { headers: table });
  t.match(list.json, {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    columnDefinitions: [{ name: 'Name', type: 'string', format: 'name' }],
    rows: [{ object: { kind: 'PartialObjectMetadata', metadata: { name: 'c000' } } }, { cells: ['c001'] }],
  });
  const none = await call(server, 'GET', `${path}/c000?includeObject=None`, { headers: table });
  t.match(none.json, { kind: 'Table', rows: [{ cells: ['c000'], object: null }] });
  const whole = await call(server, 'GET', `${path}?includeObject=Object`, { headers: table });
  t.match(whole.json.rows[0].object, { kind: 'ConfigMap', data: { x: 'y' } });
  t.equal((await call(server, 'GET', `${path}?includeObject=Some`, { headers: table })).status, 400);

  const partial = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' };
  const metadata = (await call(server, 'GET', path, { headers: partial })).json;
  t.match(metadata, { kind: 'PartialObjectMetadataList', items: [{ kind: 'PartialObjectMetadata' }, {}] });
  t.notOk(metadata.items[0].data);

  const yaml = await call(server, 'GET', `${path}/c000`, { headers: { accept: 'application/yaml' } });
  t.match(yaml.text, /^kind: ConfigMap\napiVersion: v1\n/);
  t.equal(yaml.headers['content-type'], 'application/yaml');
  const pretty = await call(server, 'GET', `${path}?pretty=true`);
  t.match(pretty.text, /^\{\n {2}"kind": "ConfigMapList"/);
});

t.test('Protobuf in both directions', async (t) => {
  const server = await startServer(t, { https: true });
  await fill(server, 2);
  const accept = { accept: 'application/vnd.kubernetes.protobuf' };
  const response = await server.handler({
    method: 'GET',
    url: path,
    headers: accept,
    body: Buffer.alloc(0),
    remoteAddress: '',
    signal: new AbortController().signal,
  });
  t.ok(Buffer.isBuffer(response.body));
  const list = decodeProtobuf(server.scheme, response.body as Buffer).object as never;
  t.match(list, { kind: 'ConfigMapList', items: [{ metadata: { name: 'c000' } }, { data: { x: 'y' } }] });
  const one = await server.handler({
    method: 'GET',
    url: `${path}/c001`,
    headers: accept,
    body: Buffer.alloc(0),
    remoteAddress: '',
    signal: new AbortController().signal,
  });
  await call(server, 'DELETE', `${path}/c001`);
  const headers = { 'content-type': 'application/vnd.kubernetes.protobuf' };
  const refused = await call(server, 'POST', path, { headers, body: one.body as Buffer });
  t.match(refused.json, { code: 500, message: /resourceVersion should not be set/ });
});

t.test('large lists are streamed, and compressed if the client accepts gzip', async (t) => {
  const server = await startServer(t, { https: true });
  await fill(server, 60, 8000);
  const plain = await callHttps(server, 'GET', path);
  t.equal(plain.json.items.length, 60);
  t.equal(plain.headers['content-length'], String(Buffer.byteLength(plain.text)), 'it has a content length');
  const pretty = await callHttps(server, 'GET', `${path}?pretty=true`);
  t.same(pretty.json.items, plain.json.items);
  t.notOk(pretty.headers['content-length'], 'it is encoded while it is sent');
  const compressed = await callHttps(server, 'GET', path, { headers: { 'accept-encoding': 'gzip' } });
  t.equal(compressed.headers['content-encoding'], 'gzip');
  t.ok(compressed.text.length < plain.text.length / 10);
  const small = await callHttps(server, 'GET', `${path}/c001`, { headers: { 'accept-encoding': 'gzip' } });
  t.notOk(small.headers['content-encoding']);
});

t.test('HTTP/2 on the same port', async (t) => {
  const names = async (context: { request: { headers: object } }) => {
    const body = Buffer.from(JSON.stringify(Object.keys(context.request.headers)));
    return { status: 200, headers: { 'content-type': 'application/json' }, body };
  };
  const server = await startServer(t, { https: true, dependencies: { paths: { '/names': names } } });
  await fill(server, 1);
  const session = connect(`https://127.0.0.1:${server.address?.port}`, { rejectUnauthorized: false });
  t.teardown(() => session.destroy());
  const get = async (at: string) => {
    const stream = session.request({ ':path': at, 'x-mine': 'yes' });
    const status = new Promise((resolve) => stream.on('response', (headers) => resolve(headers[':status'])));
    let text = '';
    stream.setEncoding('utf8');
    for await (const part of stream) text += part;
    t.equal(await status, 200);
    return JSON.parse(text);
  };
  t.equal((await get(`${path}/c000`)).metadata.name, 'c000');
  t.same(await get('/names'), ['x-mine'], 'headers of the protocol itself are not passed on, as to proxied servers');
});

t.test('a watch over WebSocket', async (t) => {
  const server = await startServer(t, { https: true });
  await fill(server, 1);
  const url = `wss://127.0.0.1:${server.address?.port}${path}?watch=1`;
  const socket = new WebSocket(url, { rejectUnauthorized: false });
  const messages: { type: string; object: { metadata: { name: string } } }[] = [];
  const second = new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('message', (data) => {
      messages.push(JSON.parse(String(data)));
      if (messages.length === 1) {
        const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'later' } };
        call(server, 'POST', path, { body }).catch(reject);
      } else resolve();
    });
  });
  await second;
  t.same(
    messages.map((message) => [message.type, message.object.metadata.name]),
    [
      ['ADDED', 'c000'],
      ['ADDED', 'later'],
    ],
  );
  const closed = new Promise((resolve) => socket.on('close', resolve));
  await server.close();
  await closed;
});

t.test('unsupported upgrades are ignored', async (t) => {
  const server = await startServer(t, { https: true });
  const socket = new WebSocket(`wss://127.0.0.1:${server.address?.port}${path}/x/nothing`, {
    rejectUnauthorized: false,
  });
  const status = await new Promise((resolve) => {
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode));
    socket.on('error', () => undefined);
  });
  t.equal(status, 404);
  const headers = { connection: 'upgrade', upgrade: 'h2c' };
  const plain = await callHttps(server, 'GET', path, { headers });
  t.match(plain.json, { kind: 'ConfigMapList', items: [] });
});

t.test('Table watches describe their columns once', async (t) => {
  const server = await startServer(t);
  await fill(server, 2);
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const { text } = await call(server, 'GET', `${path}?watch=1&timeoutSeconds=1`, { headers });
  const events = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.match(events[0], { type: 'ADDED', object: { kind: 'Table', columnDefinitions: [{ name: 'Name' }], rows: [{}] } });
  t.equal(events[1].object.columnDefinitions, null);
});

t.test('a watch from a version that is gone ends with an ERROR event, a list with 410', async (t) => {
  const server = await startServer(t);
  await fill(server, 2);
  const future = await call(server, 'GET', `${path}?resourceVersion=999999`);
  t.match(future.json, { code: 504, reason: 'Timeout', message: /Too large resource version/ });
  t.ok(future.headers['retry-after']);
});

t.test('discovery in both forms', async (t) => {
  for (const dialect of [undefined, orchDialect]) {
    const server = await startServer(t, dialect === undefined ? {} : { dialect });
    const group = (dialect ?? server.scheme.dialect).groupName('coordination');
    const groups = (await call(server, 'GET', '/apis')).json;
    t.ok(groups.groups.some(({ name }: { name: string }) => name === group));
    const resources = (await call(server, 'GET', '/api/v1')).json;
    t.match(
      resources.resources.find(({ name }: { name: string }) => name === 'pods'),
      { kind: 'Pod', namespaced: true, shortNames: ['po'], categories: ['all'], storageVersionHash: 'xPOwRZ+Yhw8=' },
    );
    t.ok(resources.resources.some(({ name }: { name: string }) => name === 'pods/exec'));
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
    const aggregated = await call(server, 'GET', '/apis', { headers: { accept } });
    t.equal(aggregated.headers['content-type'], 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
    t.ok(aggregated.json.items.some(({ metadata }: { metadata: { name: string } }) => metadata.name === group));
    t.match((await call(server, 'GET', '/version')).json, { gitVersion: 'v1.24.0', minor: '24' });
  }
});

t.test('OpenAPI', async (t) => {
  const server = await startServer(t);
  const root = (await call(server, 'GET', '/openapi/v3')).json;
  const link = root.paths['apis/apps/v1'].serverRelativeURL;
  const v3 = await call(server, 'GET', link);
  t.equal(v3.headers['cache-control'], 'public, immutable');
  t.match(v3.json.components.schemas['io.k8s.api.apps.v1.Deployment'], {
    'x-kubernetes-group-version-kind': [{ group: 'apps', version: 'v1', kind: 'Deployment' }],
  });
  t.match(v3.json.paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'].patch, {
    'x-kubernetes-action': 'patch',
  });
  const v2 = (await call(server, 'GET', '/openapi/v2')).json;
  t.match(v2.definitions['io.k8s.api.core.v1.PodSpec'].properties.containers, {
    'x-kubernetes-patch-merge-key': 'name',
  });
  const again = await call(server, 'GET', link, { headers: { 'if-none-match': v3.headers['etag'] ?? '' } });
  t.equal(again.status, 304);
});

t.test('health checks, one and all', async (t) => {
  const server = await startServer(t);
  t.equal((await call(server, 'GET', '/readyz')).text, 'ok');
  t.match((await call(server, 'GET', '/readyz?verbose')).text, /\[\+\]etcd ok[\s\S]*readyz check passed/);
  t.equal((await call(server, 'GET', '/livez/ping')).text, 'ok');
  t.match((await call(server, 'GET', '/livez?verbose&exclude=etcd')).text, /\[\+\]etcd excluded: ok/);
  t.equal((await call(server, 'GET', '/readyz/none')).status, 404);
});

t.test('core events and newer events are two views of one object', async (t) => {
  const server = await startServer(t);
  const core = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'e1', namespace: 'default' },
    involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' },
    reason: 'Started',
    message: 'said',
    type: 'Normal',
    firstTimestamp: '2024-05-01T12:00:00Z',
    lastTimestamp: '2024-05-01T12:00:00Z',
    count: 1,
    source: { component: 'tester' },
  };
  const created = await call(server, 'POST', '/api/v1/namespaces/default/events', { body: core });
  t.equal(created.status, 201, created.text);
  const view = await call(server, 'GET', '/apis/events.k8s.io/v1/namespaces/default/events/e1');
  t.match(view.json, { apiVersion: 'events.k8s.io/v1', note: 'said', regarding: { name: 'p' }, deprecatedCount: 1 });
  t.equal(view.json.metadata.resourceVersion, created.json.metadata.resourceVersion);
  const path = '/apis/events.k8s.io/v1/namespaces/default/events';
  const series = { count: 2, lastObservedTime: '2024-05-01T12:00:01.000000Z' };
  const headers = { 'content-type': 'application/merge-patch+json' };
  const patched = await call(server, 'PATCH', `${path}/e1`, { headers, body: { series } });
  t.equal(patched.status, 200, patched.text);
  const back = await call(server, 'GET', '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=p');
  t.match(back.json.items, [{ message: 'said', series: { count: 2 } }]);
});

t.test('a Protobuf watch is framed', async (t) => {
  const server = await startServer(t);
  await fill(server, 1);
  const response = await server.handler({
    method: 'GET',
    url: `${path}?watch=1&timeoutSeconds=1`,
    headers: { accept: 'application/vnd.kubernetes.protobuf' },
    body: Buffer.alloc(0),
    remoteAddress: '',
    signal: new AbortController().signal,
  });
  t.equal(response.headers['content-type'], 'application/vnd.kubernetes.protobuf;stream=watch');
  const reader = new WatchFrameReader();
  const events: { type: string; name: unknown }[] = [];
  for await (const piece of response.body as AsyncIterable<Buffer>) {
    for (const { type, object } of reader.push(piece)) {
      const decoded = decodeProtobuf(server.scheme, object).object as { metadata: { name: string } };
      events.push({ type, name: decoded.metadata.name });
    }
  }
  t.same(events, [{ type: 'ADDED', name: 'c000' }]);
});

t.test('autoscalers of both versions are two views of one object', async (t) => {
  const server = await startServer(t);
  const spec = {
    scaleTargetRef: { kind: 'Deployment', name: 'd' },
    maxReplicas: 3,
    targetCPUUtilizationPercentage: 60,
  };
  const body = { apiVersion: 'autoscaling/v1', kind: 'HorizontalPodAutoscaler', metadata: { name: 'h' }, spec };
  const [v1, v2] = ['v1', 'v2'].map((v) => `/apis/autoscaling/${v}/namespaces/default/horizontalpodautoscalers`);
  const created = await call(server, 'POST', v1 ?? '', { body });
  t.equal(created.status, 201, created.text);
  t.equal(created.json.spec.targetCPUUtilizationPercentage, 60);
  const newer = await call(server, 'GET', `${v2}/h`);
  t.match(newer.json, { apiVersion: 'autoscaling/v2', spec: { metrics: [{ resource: { name: 'cpu' } }] } });
});

t.test('metadata clients get Protobuf', async (t) => {
  const server = await startServer(t);
  await fill(server, 2);
  const ask = async (url: string, kind: string) => {
    const media = `as=${kind};g=meta.k8s.io;v=v1`;
    const accept = `application/vnd.kubernetes.protobuf;${media},application/json;${media},application/json`;
    const request = { method: 'GET', url, headers: { accept }, body: Buffer.alloc(0), remoteAddress: '' };
    const { body } = await server.handler({ ...request, signal: new AbortController().signal });
    return decodeProtobuf(server.scheme, body as Buffer).object as never;
  };
  t.match(await ask(path, 'PartialObjectMetadataList'), {
    kind: 'PartialObjectMetadataList',
    items: [{ metadata: { name: 'c000' } }, { metadata: { name: 'c001' } }],
  });
  t.match(await ask(`${path}/c001`, 'PartialObjectMetadata'), {
    kind: 'PartialObjectMetadata',
    metadata: { name: 'c001' },
  });
});

t.test('items of lists omit their kind', async (t) => {
  const server = await startServer(t);
  const path = '/api/v1/namespaces/default/configmaps';
  for (const name of ['a', 'b']) await call(server, 'POST', path, { body: { metadata: { name } } });
  const get = (accept: string, query = '') => call(server, 'GET', path + query, { headers: { accept } });
  const named = ({ json }: Awaited<ReturnType<typeof get>>) =>
    json.items.map((item: { kind?: string; apiVersion?: string; metadata: { name: string } }) => [
      item.metadata.name,
      item.kind,
      item.apiVersion,
    ]);
  const bare = [
    ['a', undefined, undefined],
    ['b', undefined, undefined],
  ];
  t.same(named(await get('application/json')), bare);
  t.same(named(await get('application/json', '?pretty=1')), bare);
  t.same(named(await get('application/json', '?limit=1')), bare.slice(0, 1));
  t.same(named(await get('application/json', '?fieldSelector=metadata.name=none')), []);
  t.notMatch((await get('application/yaml')).text, /kind: ConfigMap\n/);
  const partial = 'PartialObjectMetadataList;g=meta.k8s.io;v=v1';
  const meta = ['PartialObjectMetadata', 'meta.k8s.io/v1'];
  t.same(named(await get(`application/json;as=${partial}`)), [
    ['a', ...meta],
    ['b', ...meta],
  ]);
  t.match(
    (await get('application/json', '/a')).json,
    { kind: 'ConfigMap', apiVersion: 'v1' },
    'a single object has its kind',
  );
  t.match((await get('application/json', '?watch=1&timeoutSeconds=1')).text, /"object":\{"kind":"ConfigMap"/);
  const view = '/apis/events.k8s.io/v1/namespaces/default/events';
  const event = { metadata: { name: 'e' }, involvedObject: { namespace: 'default' }, reason: 'r', type: 'Normal' };
  await call(server, 'POST', '/api/v1/namespaces/default/events', { body: event });
  const [item] = (await call(server, 'GET', view)).json.items;
  t.same([item.kind, item.metadata.name, item.reason], [undefined, 'e', 'r'], 'as do converted objects');
});

t.test('a Table has no Protobuf form', async (t) => {
  const server = await startServer(t);
  const table = (type: string) => `application/${type};as=Table;g=meta.k8s.io;v=v1`;
  const protobuf = table('vnd.kubernetes.protobuf');
  const get = (accept: string) => call(server, 'GET', '/api/v1/namespaces/default/pods', { headers: { accept } });
  t.match((await get(protobuf)).json, { kind: 'Status', code: 406, reason: 'NotAcceptable' });
  t.match((await get(`${protobuf},${table('json')}`)).json, { kind: 'Table' });
  t.match((await get(`${protobuf},application/json`)).json, { kind: 'PodList' });
});
