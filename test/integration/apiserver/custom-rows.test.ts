/** The rules of every resource, on a custom one: verbs, options, selectors, pages, patches, subresources, versions, messages. */
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import type { ResourceInfo } from '#apimachinery/schema/scheme.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { type Answer, call, startServer } from '#test/integration/apiserver/server.js';

const group = 'rows.example.com';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const rows = `/apis/${group}/v1/namespaces/default/rows`;
const rowsOf2 = `/apis/${group}/v2/namespaces/default/rows`;
const names = { plural: 'rows', singular: 'row', kind: 'Row', listKind: 'RowList', shortNames: ['rw'] };

const element = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' }, value: { type: 'string' } },
};
const list = { type: 'array', items: element, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { replicas: { type: 'integer', default: 1, maximum: 10 }, text: { type: 'string' }, list },
    },
    status: { type: 'object', properties: { replicas: { type: 'integer' }, selector: { type: 'string' } } },
  },
};
const scale = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.selector',
};
const columns = [{ name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' }];

/** Stands for the controller that accepts the definition's names. */
async function define(server: ApiServer): Promise<void> {
  const version = {
    served: true,
    schema: { openAPIV3Schema: schema },
    subresources: { status: {}, scale },
    additionalPrinterColumns: columns,
  };
  const versions = ['v1', 'v2'].map((name) => ({ ...version, name, storage: name === 'v1' }));
  const body = { metadata: { name: `rows.${group}` }, spec: { group, scope: 'Namespaced', names, versions } };
  const { json } = await call(server, 'POST', definitions, { body });
  const conditions = ['NamesAccepted', 'Established'].map((type) => ({ type, status: 'True' }));
  const status = { conditions, acceptedNames: names, storedVersions: ['v1'] };
  await call(server, 'PUT', `${definitions}/rows.${group}/status`, { body: { ...json, status } });
  while ((await call(server, 'GET', rows)).status !== 200) await new Promise(setImmediate);
}

const row = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: `${group}/v1`,
  kind: 'Row',
  metadata: { name, ...metadata },
  spec,
});

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

const namesOf = ({ json }: Answer): string[] =>
  json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);

t.test('a custom resource', async (t) => {
  const server = await startServer(t, { gates: { ServerSideFieldValidation: true } });
  await define(server);
  const ask = (method: string, path: string, body?: unknown) =>
    call(server, method, path, body === undefined ? {} : { body });
  const patch = (path: string, type: keyof typeof patchTypes, body: unknown) =>
    call(server, 'PATCH', path, { headers: { 'content-type': patchTypes[type] }, body });
  const make = async (t: Test, name: string, spec: object = {}, metadata: object = {}) => {
    const created = await ask('POST', rows, row(name, spec, metadata));
    t.equal(created.status, 201, created.text);
    return created.json;
  };
  t.afterEach(async () => {
    for (const name of namesOf(await ask('GET', rows))) {
      await patch(`${rows}/${name}`, 'merge', { metadata: { finalizers: null } });
      await ask('DELETE', `${rows}/${name}`);
    }
  });

  await t.test('single objects', async (t) => {
    const created = await make(t, 'a', { text: 'x' });
    t.match(created, { spec: { text: 'x', replicas: 1 }, metadata: { generation: 1, namespace: 'default' } });
    t.same((await ask('GET', `${rows}/a`)).json, created);
    t.match((await ask('POST', rows, row('a'))).json, {
      code: 409,
      reason: 'AlreadyExists',
      message: `rows.${group} "a" already exists`,
    });
    t.match((await ask('GET', `${rows}/b`)).json, { code: 404, message: `rows.${group} "b" not found` });
    t.match((await ask('PUT', `${rows}/b`, row('b', {}, { resourceVersion: '1' }))).json, { code: 404 });
    const generated = await ask('POST', rows, row('', {}, { name: undefined, generateName: 'g-' }));
    t.match(generated.json.metadata.name, /^g-.{5}$/);
    const put = await ask('PUT', `${rows}/a`, { ...created, spec: { text: 'y' } });
    t.match(put.json, { spec: { text: 'y', replicas: 1 }, metadata: { generation: 2 } });
    t.match((await ask('PUT', `${rows}/a`, created)).json, { code: 409, reason: 'Conflict' });
    t.match((await ask('PUT', `${rows}/a`, row('c'))).json, {
      code: 400,
      message: /name of the object \(c\) does not match/,
    });
    const same = await ask('PUT', `${rows}/a`, put.json);
    t.equal(same.json.metadata.resourceVersion, put.json.metadata.resourceVersion, 'nothing changed');
  });

  await t.test('dry runs', async (t) => {
    t.equal((await ask('POST', `${rows}?dryRun=All`, row('a'))).status, 201);
    t.equal((await ask('GET', `${rows}/a`)).status, 404);
    const created = await make(t, 'a');
    t.equal((await ask('PUT', `${rows}/a?dryRun=All`, { ...created, spec: { text: 'x' } })).json.spec.text, 'x');
    t.equal((await patch(`${rows}/a?dryRun=All`, 'merge', { spec: { text: 'x' } })).json.spec.text, 'x');
    t.equal((await ask('DELETE', `${rows}/a?dryRun=All`)).status, 200);
    t.same((await ask('GET', `${rows}/a`)).json, created);
    t.equal((await ask('POST', `${rows}?dryRun=Some`, row('b'))).status, 422);
  });

  await t.test('lists, pages and selectors', async (t) => {
    for (const name of ['a', 'b', 'c', 'd']) await make(t, name, {}, { labels: { half: name < 'c' ? '1' : '2' } });
    const first = await ask('GET', `${rows}?limit=3`);
    t.match(first.json, { kind: 'RowList', apiVersion: `${group}/v1`, metadata: { remainingItemCount: 1 } });
    const second = await ask('GET', `${rows}?limit=3&continue=${first.json.metadata.continue}`);
    t.same([...namesOf(first), ...namesOf(second)], ['a', 'b', 'c', 'd']);
    t.equal(second.json.metadata.continue, '', 'the last page of custom objects has an empty continue');
    t.same(namesOf(await ask('GET', `${rows}?labelSelector=half%3D2`)), ['c', 'd']);
    t.same(namesOf(await ask('GET', `${rows}?fieldSelector=metadata.name%3Db`)), ['b']);
    t.same(namesOf(await ask('GET', `${rows}?fieldSelector=metadata.name!%3Db,metadata.namespace%3Ddefault`)), [
      'a',
      'c',
      'd',
    ]);
    t.match((await ask('GET', `${rows}?fieldSelector=spec.text%3Dx`)).json, {
      code: 400,
      message: 'field label not supported: spec.text',
    });
    t.same(namesOf(await ask('GET', `/apis/${group}/v1/rows`)), ['a', 'b', 'c', 'd'], 'of all namespaces');
    t.same(
      (await ask('GET', rows)).json.items.map(({ kind }: { kind: string }) => kind),
      ['Row', 'Row', 'Row', 'Row'],
    );
  });

  await t.test('watches', async (t) => {
    const start = (await ask('GET', rows)).json.metadata.resourceVersion;
    const created = await make(t, 'a', {}, { labels: { seen: 'yes' } });
    await patch(`${rows}/a`, 'merge', { spec: { replicas: 2 } });
    await patch(`${rows}/a`, 'merge', { metadata: { labels: { seen: null } } });
    await ask('DELETE', `${rows}/a`);
    const watched = async (path: string) =>
      (await ask('GET', `${path}&watch=1&timeoutSeconds=1&resourceVersion=${start}`)).text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    const [all, some, other] = await Promise.all([
      watched(`${rows}?`),
      watched(`${rows}?labelSelector=seen&fieldSelector=metadata.name%3Da`),
      watched(`${rowsOf2}?`),
    ]);
    const types = (events: { type: string }[]) => events.map(({ type }) => type);
    t.same(types(all), ['ADDED', 'MODIFIED', 'MODIFIED', 'DELETED']);
    t.same(all[0].object, created);
    t.same(types(some), ['ADDED', 'MODIFIED', 'DELETED']);
    t.same(types(other), types(all));
    t.equal(other[0].object.apiVersion, `${group}/v2`);
  });

  await t.test('patches', async (t) => {
    await make(t, 'a', { text: 'x', list: [{ name: '1', value: 'a' }] });
    t.equal((await patch(`${rows}/a`, 'merge', { spec: { text: null } })).json.spec.text, undefined);
    const added = [{ op: 'add', path: '/spec/list/-', value: { name: '2' } }];
    t.equal((await patch(`${rows}/a`, 'json', added)).json.spec.list.length, 2);
    t.match((await patch(`${rows}/a`, 'json', [{ op: 'test', path: '/spec/replicas', value: 7 }])).json, { code: 422 });
    t.match((await patch(`${rows}/a`, 'strategic', { spec: { replicas: 3 } })).json, {
      code: 415,
      reason: 'UnsupportedMediaType',
      message:
        'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    });
    t.match((await patch(`${rows}/a`, 'merge', { spec: { replicas: 11 } })).json, {
      code: 422,
      message: `Row.${group} "a" is invalid: spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10`,
    });
    t.equal((await patch(`${rows}/none`, 'merge', {})).status, 404);
  });

  await t.test('server-side apply, also in another version', async (t) => {
    const applied = (path: string, manager: string, version: string, spec: object, force = false) =>
      patch(`${path}/a?fieldManager=${manager}&force=${force}`, 'apply', {
        ...row('a', spec),
        apiVersion: `${group}/${version}`,
      });
    t.equal((await applied(rows, 'one', 'v1', { list: [{ name: '1', value: 'a' }] })).status, 201);
    const both = await applied(rowsOf2, 'two', 'v2', { list: [{ name: '2', value: 'b' }] });
    t.same(
      both.json.spec.list.map(({ name }: { name: string }) => name),
      ['1', '2'],
      'lists merge by their keys',
    );
    t.match(both.json.metadata.managedFields, [
      { manager: 'one', operation: 'Apply', apiVersion: `${group}/v1` },
      { manager: 'two', operation: 'Apply', apiVersion: `${group}/v2` },
    ]);
    const conflict = await applied(rowsOf2, 'two', 'v2', { list: [{ name: '1', value: 'c' }] });
    t.match(conflict.json, {
      code: 409,
      message: 'Apply failed with 1 conflict: conflict with "one": .spec.list[name="1"].value',
      details: { causes: [{ reason: 'FieldManagerConflict', field: '.spec.list[name="1"].value' }] },
    });
    const forced = await applied(rowsOf2, 'two', 'v2', { list: [{ name: '1', value: 'c' }] }, true);
    t.same(forced.json.spec.list, [{ name: '1', value: 'c' }], 'a field that no manager applies any more is removed');
    t.match((await ask('GET', `${rows}/a`)).json, { apiVersion: `${group}/v1`, spec: { list: [{ value: 'c' }] } });
  });

  await t.test('deletions', async (t) => {
    const created = await make(t, 'a', {}, { finalizers: ['example.com/wait'] });
    const preconditions = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'other' } };
    t.match((await ask('DELETE', `${rows}/a`, preconditions)).json, { code: 409 });
    t.match((await ask('DELETE', `${rows}/a`)).json, {
      metadata: { uid: created.metadata.uid, deletionTimestamp: /Z$/ },
    });
    t.equal((await ask('GET', `${rows}/a`)).status, 200, 'it waits for its finalizer');
    t.match((await patch(`${rows}/a`, 'merge', { metadata: { finalizers: ['example.com/more'] } })).json, {
      code: 422,
    });
    t.equal((await patch(`${rows}/a`, 'merge', { metadata: { finalizers: null } })).status, 200);
    t.equal((await ask('GET', `${rows}/a`)).status, 404);
    await make(t, 'b');
    const foreground = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Foreground' };
    t.match((await ask('DELETE', `${rows}/b`, foreground)).json, { metadata: { finalizers: ['foregroundDeletion'] } });
    for (const name of ['c', 'd', 'e']) await make(t, name, {}, { labels: { go: name < 'e' ? 'yes' : 'no' } });
    t.same(namesOf(await ask('DELETE', `${rows}?labelSelector=go%3Dyes`)), ['c', 'd']);
    t.same(namesOf(await ask('GET', rows)), ['b', 'e']);
  });

  await t.test('status and scale', async (t) => {
    const created = await make(t, 'a', { replicas: 2 }, {});
    const withStatus = { ...created, spec: { replicas: 9 }, status: { replicas: 2, selector: 'app=a' } };
    const put = await ask('PUT', `${rows}/a/status`, withStatus);
    t.match(put.json, { spec: { replicas: 2 }, status: { replicas: 2 }, metadata: { generation: 1 } });
    const main = await ask('PUT', `${rows}/a`, { ...put.json, spec: { replicas: 3 }, status: { replicas: 8 } });
    t.match(main.json, { spec: { replicas: 3 }, status: { replicas: 2 }, metadata: { generation: 2 } });
    const scale = await ask('GET', `${rows}/a/scale`);
    t.match(scale.json, {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 3 },
      status: { replicas: 2, selector: 'app=a' },
    });
    const scaled = await ask('PUT', `${rows}/a/scale`, { ...scale.json, spec: { replicas: 5 } });
    t.match(scaled.json, { spec: { replicas: 5 } });
    t.match((await patch(`${rows}/a/scale`, 'merge', { spec: { replicas: 6 } })).json, { spec: { replicas: 6 } });
    t.match((await patch(`${rows}/a/scale`, 'merge', { spec: { replicas: 11 } })).json, { code: 422 });
    t.match((await ask('GET', `${rows}/a`)).json, { spec: { replicas: 6 }, metadata: { generation: 4 } });
    t.match((await patch(`${rows}/a/status`, 'merge', { status: { replicas: 'x' } })).json, { code: 422 });
  });

  await t.test('tables and metadata', async (t) => {
    await make(t, 'a', { replicas: 4 });
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const table = await call(server, 'GET', rows, { headers: { accept } });
    t.same(
      table.json.columnDefinitions.map(({ name }: { name: string }) => name),
      ['Name', 'Replicas'],
    );
    t.same(table.json.rows[0].cells, ['a', 4]);
    const partial = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    const metadata = await call(server, 'GET', rows, { headers: { accept: partial } });
    t.match(metadata.json, {
      kind: 'PartialObjectMetadataList',
      items: [{ metadata: { name: 'a' }, spec: undefined }],
    });
    const protobuf = await call(server, 'GET', rows, { headers: { accept: 'application/vnd.kubernetes.protobuf' } });
    t.equal(protobuf.status, 406);
  });

  await t.test('unknown and repeated fields', (t) => fieldValidation(t, server));
});

t.test('without CustomResourceDefinitions, custom resources are not served', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  const first = await startServer(t, { store });
  await define(first);
  const isEnabled = ({ declaration }: ResourceInfo) => declaration.resource !== 'customresourcedefinitions';
  const second = await startServer(t, { store, dependencies: { isEnabled } });
  t.equal((await call(second, 'GET', definitions)).status, 404);
  t.equal((await call(second, 'GET', rows)).status, 404);
  const groups = (await call(second, 'GET', '/apis')).json.groups.map(({ name }: { name: string }) => name);
  t.notOk(groups.includes(group));
  t.equal((await call(second, 'GET', '/readyz')).status, 200);
  t.equal((await call(first, 'GET', rows)).status, 200);
});

t.test('deleting a definition drops the series of its requests', async (t) => {
  const server = await startServer(t);
  await define(server);
  await call(server, 'POST', rows, { body: row('a') });
  await call(server, 'GET', `${rows}?watch=1&timeoutSeconds=1`);
  const open = call(server, 'GET', `${rows}?watch=1`);
  const series = async () => {
    const { text } = await call(server, 'GET', '/metrics');
    return text
      .split('\n')
      .filter((line) => !line.startsWith('#') && /[{,](resource="rows|group="rows\.|type="rows)/.test(line));
  };
  let watched = await series();
  while (!watched.some((line) => /^apiserver_longrunning_requests.* 1$/.test(line))) watched = await series();
  for (const name of ['request_total', 'request_duration_seconds_sum', 'watch_events_total', 'response_sizes_sum']) {
    t.ok(
      watched.some((line) => line.startsWith(`apiserver_${name}{`)),
      name,
    );
  }
  const path = `${definitions}/rows.${group}`;
  const { json } = await call(server, 'GET', path);
  const withdrawn = { ...json, status: { ...json.status, conditions: [] } };
  const { metadata } = (await call(server, 'PUT', `${path}/status`, { body: withdrawn })).json;
  await open;
  while (watched.length > 0) watched = await series();
  await call(server, 'PUT', `${path}/status`, { body: { ...json, metadata } });
  while ((await call(server, 'GET', rows)).status !== 200) await new Promise(setImmediate);
  const counts = (await series()).filter((line) => /^apiserver_request_total.*"LIST"/.test(line));
  t.equal(counts.length, 1, 'only later requests are counted');
});

const specOf = '{"text":"x","text":"y","odd":1,"list":[{"name":"1","odd":2}]}';
const jsonBody = (name: string, more = ''): string =>
  `{"apiVersion":"${group}/v1","kind":"Row","metadata":{"name":"${name}"${more}},"spec":${specOf},"odd":3}`;
const yamlBody = (name: string, more = ''): string =>
  `apiVersion: ${group}/v1\nkind: Row\nmetadata: {name: ${name}${more}}\nspec:\n  text: x\n  text: z\n  odd: 1\n  list:\n  - {name: "1", odd: 2}\nodd: 3\n`;

const unknown = ['unknown field "odd"', 'unknown field "spec.list[0].odd"', 'unknown field "spec.odd"'];
const repeated = ['duplicate field "spec.text"', ...unknown];
const repeatedKey = 'line 6: key "text" already set in map';
const repeatedYAML = [repeatedKey, ...unknown];
/** The message of strict decoding for a repeated key. */
const strictly = (finding: string) => (finding === repeatedKey ? `yaml: unmarshal errors:\n  ${finding}` : finding);

async function fieldValidation(t: Test, server: ApiServer): Promise<void> {
  const { json } = await call(server, 'POST', rows, { body: row('there', { text: 'w' }) });
  const version = `"resourceVersion":"${json.metadata.resourceVersion}"`;
  const there = `${rows}/there`;
  const send = (method: string, path: string, type: string, body: string, query: string) =>
    call(server, method, `${path}?dryRun=All${query}`, { headers: { 'content-type': type }, body });
  const odd = '[{"op":"add","path":"/spec/odd","value":1},{"op":"add","op":"add","path":"/spec/text","value":"z"}]';
  const ofPatch = ['json patch duplicate field "[1].op"', 'unknown field "spec.odd"'];
  const cases: [method: string, path: string, type: string, body: string, expected: string[]][] = [
    ['POST', rows, 'application/json', jsonBody('new'), repeated],
    ['POST', rows, 'application/yaml', yamlBody('new'), repeatedYAML],
    ['PUT', there, 'application/json', jsonBody('there', `,${version}`), repeated],
    ['PUT', there, 'application/yaml', yamlBody('there', `, ${version.replace(':', ': ')}`), repeatedYAML],
    ['PATCH', there, patchTypes.merge, `{"spec":${specOf},"odd":3}`, repeated],
    ['PATCH', there, patchTypes.json, odd, ofPatch],
  ];
  for (const [method, path, type, body, expected] of cases) {
    const name = `${method} ${type}`;
    const refused = await send(method, path, type, body, '&fieldValidation=Strict');
    const text = `strict decoding error: ${expected.map(strictly).join(', ')}`;
    if (method === 'PATCH') {
      t.match(refused.json, { code: 422, details: { causes: [{ field: 'patch' }] } }, name);
      t.ok(refused.json.message.endsWith(`: ${text}`), `${name}: ${refused.json.message}`);
    } else {
      const message = `Row in version "v1" cannot be handled as a Row: ${text}`;
      t.match(refused.json, { code: 400, reason: 'BadRequest', message }, name);
    }
    const warnings = expected.map((each) => `299 - "${each.replaceAll('"', '\\"')}"`).join(', ');
    for (const mode of ['', '&fieldValidation=Warn']) {
      const warned = await send(method, path, type, body, mode);
      t.ok(warned.status < 300, `${name}${mode}`);
      t.equal(warned.headers['warning'], warnings, `${name}${mode}: warnings`);
    }
    const ignored = await send(method, path, type, body, '&fieldValidation=Ignore');
    t.ok(ignored.status < 300 && ignored.headers['warning'] === undefined, `${name}: ignored`);
    t.strictSame(Object.keys(ignored.json.spec).includes('odd'), false, `${name}: pruned all the same`);
    if (body.includes('text')) t.match(ignored.json.spec.text, /^[yz]$/, `${name}: the last one counts`);
  }
  await applyValidation(t, (query, body) => send('PATCH', there, patchTypes.apply, body, query));
}

async function applyValidation(
  t: Test,
  send: (query: string, body: string) => Promise<Awaited<ReturnType<typeof call>>>,
): Promise<void> {
  const large = `# ${'x'.repeat(5000)}\n`;
  for (const [mode, first, line] of [
    ['Ignore', '', 6],
    ['Warn', '', 6],
    ['Strict', '', 6],
    ['Strict', large, 7],
    ['Warn', large, 7],
  ] as const) {
    const query = `&fieldManager=m&force=true&fieldValidation=${mode}`;
    // An applied configuration must not name unknown fields.
    const odd = await send(query, `${first}${yamlBody('there')}`);
    t.match(odd.json, { code: 500, message: /\.spec\.odd: field not declared in schema/ }, mode);
    const body = yamlBody('there')
      .replaceAll(/( {2})?odd: \d\n/g, '')
      .replace(', odd: 2', '');
    const applied = await send(query, `${first}${body}`);
    const key = `line ${line}: key "text" already set in map`;
    if (mode === 'Strict') {
      const why = `error converting YAML to JSON: yaml: unmarshal errors:\n  ${key}`;
      t.match(applied.json, { code: 400, reason: 'BadRequest', message: `error strict decoding YAML: ${why}` });
      continue;
    }
    t.match(applied.json, { spec: { text: 'z' } }, `${mode}: the last one counts`);
    t.equal(applied.headers['warning'], mode === 'Ignore' ? undefined : `299 - "${key.replaceAll('"', '\\"')}"`, mode);
  }
}
