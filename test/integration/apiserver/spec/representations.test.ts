/** Specification 1, 2.6, 2.7 and 4.8: the forms of requests and responses. */
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { parse } from 'yaml';
import { decodeProtobuf, encodeProtobuf } from '#apimachinery/codec/protobuf/protobuf.js';
import { Reader } from '#apimachinery/codec/protobuf/reader.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { covers } from '#test/integration/apiserver/spec/rules.js';
import { configMap, configMaps, serveOver, startSpec, withEtcd } from '#test/integration/apiserver/spec/spec-server.js';

const path = configMaps('forms');
const pods = '/api/v1/namespaces/forms/pods';
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'i' }] },
};

/** A message's delimited fields by number, without their types. */
function fields(bytes: Buffer): Map<number, Buffer> {
  const reader = new Reader(bytes);
  const fields = new Map<number, Buffer>();
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if ((key & 7) === 2) fields.set(key >>> 3, reader.bytes());
    else reader.skip(key & 7);
  }
  return fields;
}

t.test('representations', withEtcd, async (t) => {
  const { client, server, etcd } = await startSpec(t);
  for (const name of ['a', 'b']) await client.make(path, configMap(name, { n: '1' }, { labels: { l: name } }));
  await client.make(pods, pod);
  const { client: orch, server: orchServer } = await serveOver(t, etcd, { dialect: orchDialect });
  const dialects: [Dialect, typeof client, typeof server][] = [
    [kubernetesDialect, client, server],
    [orchDialect, orch, orchServer],
  ];

  await covers(t, ['1 encodings', '4.8 JSON', '4.8.2'], 'JSON by default', async (t) => {
    for (const accept of ['', '*/*', 'application/*', 'application/json', 'text/html, */*;q=0.1']) {
      for (const url of [path, `${path}/a`]) {
        const { status, headers, json } = await client.get(url, accept === '' ? {} : { accept });
        t.equal(status, 200, accept);
        t.equal(headers['content-type'], 'application/json');
        t.match(json.kind, /^ConfigMap/);
      }
    }
    const { headers, text } = await client.get(`${path}/a`, { accept: 'application/yaml' });
    t.equal(headers['content-type'], 'application/yaml');
    t.match(parse(text), { kind: 'ConfigMap', metadata: { name: 'a' } });
    t.match(parse((await client.get(path, { accept: 'application/yaml' })).text), { kind: 'ConfigMapList' });
    const yaml = 'kind: ConfigMap\napiVersion: v1\nmetadata: {name: from-yaml}\n';
    t.equal((await client.post(path, yaml, { 'content-type': 'application/yaml' })).status, 201);
    await client.delete(`${path}/from-yaml`);
  });

  await covers(t, ['2.7.1', '2.7.2', '2.7.3', '4.8 Protobuf'], 'the Protobuf envelope', async (t) => {
    for (const [dialect, caller, api] of dialects) {
      const accept = dialect.protobufMediaType;
      const { headers, bytes } = await caller.get(`${path}/a`, { accept });
      t.equal(headers['content-type'], accept);
      t.same([...bytes.subarray(0, 4)], [0x6b, 0x38, 0x73, 0x00]);
      const unknown = fields(bytes.subarray(4));
      const type = fields(unknown.get(1) ?? Buffer.alloc(0));
      t.equal(String(type.get(1)), 'v1');
      t.equal(String(type.get(2)), 'ConfigMap');
      t.ok((unknown.get(2)?.length ?? 0) > 0, 'the object');
      t.equal(String(unknown.get(3) ?? ''), '', 'no encoding');
      t.equal(String(unknown.get(4) ?? ''), '', 'no content type');
      const json = (await caller.get(`${path}/a`)).json;
      t.same(JSON.parse(JSON.stringify(decodeProtobuf(api.scheme, bytes).object)), json, 'the same object');
      const list = decodeProtobuf(api.scheme, (await caller.get(path, { accept })).bytes).object;
      const { items } = (await caller.get(path)).json;
      // Items of a Protobuf list have no envelopes, so they do not repeat their kind.
      t.same(
        JSON.parse(JSON.stringify(list)).items,
        items.map(({ kind: _kind, apiVersion: _version, ...item }: { kind: string; apiVersion: string }) => item),
      );
    }
  });

  await covers(t, ['4.8.1'], 'requests and responses have independent forms', async (t) => {
    const kind = server.scheme.kind('v1', 'ConfigMap');
    if (kind === undefined) throw new Error('no such kind');
    const type = kubernetesDialect.protobufMediaType;
    const body = encodeProtobuf(kind, configMap('proto', { n: '1' }));
    const created = await client.post(path, body, { 'content-type': type, accept: 'application/json' });
    t.match(created.json, { kind: 'ConfigMap', metadata: { name: 'proto' }, data: { n: '1' } });
    const next = encodeProtobuf(kind, { ...created.json, data: { n: '2' } });
    const put = await client.put(`${path}/proto`, next, { 'content-type': type, accept: type });
    t.equal(put.headers['content-type'], type);
    t.match(decodeProtobuf(server.scheme, put.bytes).object, { data: { n: '2' } });
    const wrong = await client.post(path, body, { 'content-type': 'application/json' });
    t.equal(wrong.status, 400, 'Protobuf that calls itself JSON');
    await client.delete(`${path}/proto`);
    const patched = await client.patch(
      `${path}/a`,
      { 'content-type': 'application/merge-patch+json', accept: type },
      {},
    );
    t.equal(patched.headers['content-type'], type);
  });

  await covers(t, ['4.8.2'], '406 and 415 name the supported types', async (t) => {
    const media = `application/json, application/yaml, ${kubernetesDialect.protobufMediaType}`;
    for (const accept of ['text/html', 'application/xml', 'application/json;q=0', 'application/json;as=Nothing']) {
      const { status, json } = await client.get(`${path}/a`, { accept });
      t.equal(status, 406, accept);
      t.same(json, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: `only the following media types are accepted: ${media}`,
        reason: 'NotAcceptable',
        code: 406,
      });
    }
    const refused = await client.post(path, 'x', { 'content-type': 'text/plain' });
    t.same(refused.json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `the body of the request was in an unknown format - accepted media types include: ${media}`,
      reason: 'UnsupportedMediaType',
      code: 415,
    });
    const before = (await client.get(`${path}/a`)).json;
    await client.put(`${path}/a`, { ...before, data: { n: 'x' } }, { accept: 'text/html' });
    t.same((await client.get(`${path}/a`)).json, before, 'refused before anything is done');
    const failed = await client.get(`${path}/none`, { accept: kubernetesDialect.protobufMediaType });
    t.equal(failed.headers['content-type'], kubernetesDialect.protobufMediaType, 'failures too');
    t.match(decodeProtobuf(server.scheme, failed.bytes).object, { code: 404, reason: 'NotFound' });
  });

  await covers(
    t,
    ['1 tables', '2.6 kind', '2.6 apiVersion', '2.6 columnDefinitions', '2.6 rows', '4.8 Table'],
    'tables',
    async (t) => {
      for (const [dialect, caller] of dialects) {
        const group = dialect.groupName('meta');
        const accept = `application/json;as=Table;g=${group};v=v1`;
        const { headers, json } = await caller.get(pods, { accept });
        t.match(headers['content-type'], 'application/json');
        t.match(json, { kind: 'Table', apiVersion: `${group}/v1`, metadata: { resourceVersion: /^\d+$/ } });
        for (const column of json.columnDefinitions) {
          t.match(column, { name: /./, type: /^(string|integer|date|number|boolean)$/ });
        }
        t.equal(json.columnDefinitions.length, json.rows[0].cells.length);
        t.equal(json.columnDefinitions[0].name, 'Name');
        t.equal(json.rows[0].cells[0], 'p');
        t.match(json.rows[0].object, {
          kind: 'PartialObjectMetadata',
          apiVersion: `${group}/v1`,
          metadata: { name: 'p' },
        });
        const one = (await caller.get(`${pods}/p`, { accept })).json;
        t.same(one.rows[0].object, json.rows[0].object, 'of one object');
        t.equal((await caller.get(`${pods}/p?includeObject=None`, { accept })).json.rows[0].object, null);
        t.equal((await caller.get(`${pods}/p?includeObject=Object`, { accept })).json.rows[0].object.kind, 'Pod');
        t.same((await caller.get(`${pods}/p?includeObject=Some`, { accept })).json, {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: `Unable to convert to Table as requested: includeObject: Invalid value: "Some": must be 'Metadata', 'Object', 'None', or empty`,
          reason: 'BadRequest',
          code: 400,
        });
        const paged = (await caller.get(`${path}?limit=1`, { accept })).json;
        t.ok(paged.metadata.continue, 'pages of tables');
        t.equal(paged.metadata.remainingItemCount, 1);
      }
    },
  );

  await covers(t, ['2.6 default'], 'the default table', async (t) => {
    const type = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'l' }, spec: { limits: [] } };
    await client.make('/api/v1/namespaces/forms/limitranges', type);
    const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
    const { json } = await client.get('/api/v1/namespaces/forms/limitranges', { accept });
    t.match(json.columnDefinitions, [
      { name: 'Name', type: 'string' },
      { name: 'Created At', type: 'date' },
    ]);
    t.equal(json.columnDefinitions.length, 2);
    t.match(json.rows[0].cells, ['l', /^\d{4}-\d\d-\d\dT.*Z$/]);
  });

  await covers(t, ['4.8.3'], 'fallbacks, by quality', async (t) => {
    const protobuf = kubernetesDialect.protobufMediaType;
    const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
    const rows: [string, string, string][] = [
      [`${table}, application/json`, 'application/json', 'Table'],
      [`${protobuf}, application/json`, protobuf, ''],
      [`${protobuf};q=0.5, application/json`, 'application/json', 'ConfigMapList'],
      [`application/json;q=0.2, application/yaml;q=0.3`, 'application/yaml', ''],
      [`application/json;as=Nothing;g=meta.k8s.io;v=v1, application/json`, 'application/json', 'ConfigMapList'],
      [`application/json;as=Table;g=other.example;v=v1, application/json`, 'application/json', 'ConfigMapList'],
      [`application/json;as=Table;v=v9;g=meta.k8s.io, ${table};q=0.1`, 'application/json', 'Table'],
      ['text/html, application/xhtml+xml, */*;q=0.8', 'application/json', 'ConfigMapList'],
    ];
    for (const [accept, type, kind] of rows) {
      const { status, headers, json } = await client.get(path, { accept });
      t.equal(status, 200, accept);
      t.equal(headers['content-type'], type, accept);
      if (kind !== '') t.equal(json.kind, kind, accept);
    }
  });

  await covers(t, ['4.8.2'], 'partial metadata of objects and lists', async (t) => {
    const as = (kind: string) => ({ accept: `application/json;as=${kind};g=meta.k8s.io;v=v1` });
    const one = (await client.get(`${path}/a`, as('PartialObjectMetadata'))).json;
    t.match(one, { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: { labels: { l: 'a' } } });
    t.equal(one.data, undefined);
    const list = (await client.get(path, as('PartialObjectMetadataList'))).json;
    t.match(list, { kind: 'PartialObjectMetadataList', items: [{ kind: 'PartialObjectMetadata' }, {}] });
    t.equal((await client.get(path, as('PartialObjectMetadata'))).status, 406, 'a list is no object');
    t.equal((await client.get(`${path}/a`, as('PartialObjectMetadataList'))).status, 406, 'and an object no list');
  });

  await covers(t, ['4.8.2'], 'large responses are compressed if the client accepts it', async (t) => {
    const data = { x: 'y'.repeat(100_000) };
    for (const name of ['big1', 'big2']) await client.make(configMaps('big'), configMap(name, data));
    const whole = await client.get(configMaps('big'));
    for (const encoding of ['gzip', 'deflate, gzip;q=1.0', 'br, gzip']) {
      const { headers, bytes } = await client.get(configMaps('big'), { 'accept-encoding': encoding });
      t.equal(headers['content-encoding'], 'gzip', encoding);
      t.equal(headers['vary'], 'Accept-Encoding');
      t.equal(String(gunzipSync(bytes)), whole.text);
    }
    for (const encoding of ['identity', 'br', 'gzip;q=0']) {
      const { headers } = await client.get(configMaps('big'), { 'accept-encoding': encoding });
      t.equal(headers['content-encoding'], undefined, encoding);
    }
    const small = await client.get(path, { 'accept-encoding': 'gzip' });
    t.equal(small.headers['content-encoding'], undefined, 'too small');
  });
});
