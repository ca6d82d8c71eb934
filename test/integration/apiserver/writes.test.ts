import t from 'tap';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { type Answer, call, callHttps, startServer } from '#test/integration/apiserver/server.js';

const configmaps = '/api/v1/namespaces/default/configmaps';
const pods = '/api/v1/namespaces/default/pods';
const deployments = '/apis/apps/v1/namespaces/default/deployments';

const configMap = (metadata: object, data: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
const pod = (name: string, more: { metadata?: object; spec?: object } = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...more.metadata },
  spec: { containers: [{ name: 'c', image: 'i' }], ...more.spec },
});
const deployment = (name: string, replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
});

async function create(t: Tap.Test, server: ApiServer, path: string, body: unknown): Promise<Answer> {
  const answer = await call(server, 'POST', path, { body });
  if (answer.status !== 201) t.fail(answer.text);
  return answer;
}

declare namespace Tap {
  type Test = { fail(message: string): unknown };
}

const patch = (type: string) => ({ headers: { 'content-type': `application/${type}` } });

t.test('create: fields set by the server are not owned by the creator', async (t) => {
  const server = await startServer(t);
  const { json } = await create(t, server, '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'mine', labels: { one: '1' } },
  });
  t.equal(json.spec.finalizers.length, 1);
  t.strictSame(Object.keys(json.metadata.managedFields[0].fieldsV1), ['f:metadata']);
});

t.test('create: names and namespaces', async (t) => {
  const server = await startServer(t);
  const generated = await create(t, server, configmaps, configMap({ generateName: 'web-' }));
  t.match(generated.json.metadata.name, /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  const elsewhere = await call(server, 'POST', configmaps, { body: configMap({ name: 'a', namespace: 'other' }) });
  t.match(elsewhere.json, { code: 400, message: /does not match the namespace sent on the request/ });
  const bad = await call(server, 'POST', configmaps, { body: configMap({ name: 'Bad_Name' }) });
  t.match(bad.json, {
    code: 422,
    reason: 'Invalid',
    message: /^ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": /,
    details: { name: 'Bad_Name', kind: 'ConfigMap', causes: [{ field: 'metadata.name', reason: 'FieldValueInvalid' }] },
  });
  const otherKind = await call(server, 'POST', configmaps, { body: { ...configMap({ name: 'a' }), kind: 'Secret' } });
  t.match(otherKind.json, { code: 400, reason: 'BadRequest' });
  const system = {
    name: 'b',
    uid: 'mine',
    creationTimestamp: '2001-01-01T00:00:00Z',
    deletionTimestamp: '2001-01-01T00:00:00Z',
  };
  const created = (await create(t, server, configmaps, configMap(system))).json.metadata;
  t.not(created.uid, 'mine');
  t.notOk(created.deletionTimestamp);
});

t.test('unknown fields cause warnings, or fail strict requests', async (t) => {
  const server = await startServer(t, { gates: { ServerSideFieldValidation: true } });
  const odd = { ...configMap({ name: 'a' }), oddity: 1 };
  const warned = await call(server, 'POST', configmaps, { body: odd });
  t.equal(warned.headers['warning'], '299 - "unknown field \\"oddity\\""');
  t.notOk(warned.json.oddity);
  const strict = await call(server, 'POST', `${configmaps}?fieldValidation=Strict`, {
    body: { ...odd, metadata: { name: 'b' } },
  });
  t.match(strict.json, { code: 400, message: /strict decoding error: unknown field "oddity"/ });
  t.equal((await call(server, 'POST', `${configmaps}?fieldValidation=Maybe`, { body: odd })).status, 422);
});

t.test('repeated keys cause warnings, are refused or ignored, as requested', async (t) => {
  const server = await startServer(t, { gates: { ServerSideFieldValidation: true } });
  await create(t, server, configmaps, configMap({ name: 'there' }, { a: '0' }));
  const there = `${configmaps}/there`;
  const documentOf = (name: string) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  a: "1"\n  a: "2"\n`;
  const key = 'line 7: key "a" already set in map';
  const yaml = `yaml: unmarshal errors:\n  ${key}`;
  const decoding = `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: ${yaml}`;
  const applying = `error strict decoding YAML: error converting YAML to JSON: ${yaml}`;
  const apply = 'application/apply-patch+yaml';
  const json = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"there"},\n"data":{"a":"1","a":"2"}}';
  const inJSON = 'line 2: key "a" already set in map';
  const cases: [method: string, path: string, type: string, body: string, refusal: string, warning: string][] = [
    ['POST', configmaps, 'application/yaml', documentOf('new'), decoding, key],
    ['PUT', there, 'application/yaml', documentOf('there'), decoding, key],
    ['PATCH', there, apply, documentOf('there'), applying, key],
    ['PATCH', `${configmaps}/new`, apply, documentOf('new'), applying, key],
    ['PATCH', there, apply, json, applying.replace(key, inJSON), inJSON],
  ];
  for (const [method, path, type, body, refusal, warning] of cases) {
    const query = type === apply ? 'dryRun=All&fieldManager=m&force=true' : 'dryRun=All';
    const send = (mode: string) =>
      call(server, method, `${path}?${query}&fieldValidation=${mode}`, { headers: { 'content-type': type }, body });
    const name = `${method} ${type} ${path}`;
    t.match((await send('Strict')).json, { code: 400, reason: 'BadRequest', message: refusal }, name);
    for (const mode of ['Warn', '', 'Ignore']) {
      const { status, json, headers } = await send(mode);
      t.ok(status < 300, `${name} ${mode}`);
      t.strictSame(json.data, { a: '2' }, 'the last value wins');
      t.equal(headers['warning'], mode === 'Ignore' ? undefined : `299 - "${warning.replaceAll('"', '\\"')}"`, name);
    }
  }
});

t.test('meaningless members of JSON patch operations are reported', async (t) => {
  const server = await startServer(t, { gates: { ServerSideFieldValidation: true } });
  await create(t, server, configmaps, configMap({ name: 'there' }, { a: '0' }));
  const body = '[{"op":"add","op":"add","why":"x","path":"/data/a","value":"1"}]';
  const send = (mode: string) =>
    call(server, 'PATCH', `${configmaps}/there?fieldValidation=${mode}`, {
      headers: { 'content-type': 'application/json-patch+json' },
      body,
    });
  const findings = ['json patch unknown field "[0].why"', 'json patch duplicate field "[0].op"'];
  t.match((await send('Strict')).json, { code: 422, message: new RegExp(findings.join(', ').replaceAll('[', '\\[')) });
  const warnings = findings.map((text) => `299 - "${text.replaceAll('"', '\\"')}"`).join(', ');
  t.equal((await send('Warn')).headers['warning'], warnings);
  t.equal((await send('Ignore')).headers['warning'], undefined);
});

t.test('dry runs change nothing', async (t) => {
  const server = await startServer(t);
  const dry = await call(server, 'POST', `${configmaps}?dryRun=All`, { body: configMap({ name: 'a' }) });
  t.equal(dry.status, 201);
  t.equal((await call(server, 'GET', `${configmaps}/a`)).status, 404);
  await create(t, server, configmaps, configMap({ name: 'a' }, { x: '1' }));
  t.equal((await call(server, 'POST', `${configmaps}?dryRun=All`, { body: configMap({ name: 'a' }) })).status, 409);
  const update = await call(server, 'PUT', `${configmaps}/a?dryRun=All`, {
    body: configMap({ name: 'a' }, { x: '2' }),
  });
  t.equal(update.json.data.x, '2');
  await call(server, 'PATCH', `${configmaps}/a?dryRun=All`, {
    ...patch('merge-patch+json'),
    body: { data: { x: '3' } },
  });
  await call(server, 'DELETE', `${configmaps}/a?dryRun=All`);
  await call(server, 'DELETE', `${configmaps}?dryRun=All`);
  t.equal((await call(server, 'GET', `${configmaps}/a`)).json.data.x, '1');
  t.equal((await call(server, 'POST', `${configmaps}?dryRun=Some`, { body: configMap({ name: 'b' }) })).status, 422);
});

t.test('update: versions and identity', async (t) => {
  const server = await startServer(t);
  const { metadata } = (await create(t, server, configmaps, configMap({ name: 'a' }))).json;
  const put = (body: unknown) => call(server, 'PUT', `${configmaps}/a`, { body });
  const unconditional = await put(configMap({ name: 'a' }, { x: '1' }));
  t.equal(unconditional.status, 200, 'without a version it overwrites');
  t.equal(unconditional.json.metadata.uid, metadata.uid);
  t.equal(unconditional.json.metadata.creationTimestamp, metadata.creationTimestamp);
  t.match((await put(configMap({ name: 'a', resourceVersion: metadata.resourceVersion }))).json, { code: 409 });
  t.match((await put(configMap({ name: 'a', uid: 'other' }))).json, { code: 409, message: /Precondition failed: UID/ });
  t.match((await put(configMap({ name: 'b' }))).json, {
    code: 400,
    message: /does not match the name on the URL \(a\)/,
  });
  const same = await put(unconditional.json);
  t.equal(same.json.metadata.resourceVersion, unconditional.json.metadata.resourceVersion, 'nothing to write');
  t.equal((await call(server, 'PUT', `${configmaps}/z`, { body: configMap({ name: 'z' }) })).status, 404);
});

t.test('concurrent merge patches without a version all succeed', async (t) => {
  const server = await startServer(t);
  await create(t, server, configmaps, configMap({ name: 'a' }));
  const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
  const answers = await Promise.all(
    keys.map((key) =>
      call(server, 'PATCH', `${configmaps}/a`, { ...patch('merge-patch+json'), body: { data: { [key]: '1' } } }),
    ),
  );
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.same(Object.keys((await call(server, 'GET', `${configmaps}/a`)).json.data).sort(), keys.sort());
  const body = { metadata: { resourceVersion: '1' }, data: {} };
  t.equal((await call(server, 'PATCH', `${configmaps}/a`, { ...patch('merge-patch+json'), body })).status, 409);
  t.equal((await call(server, 'PATCH', `${configmaps}/a`, { ...patch('json'), body })).status, 415);
});

t.test('deletion in two phases', async (t) => {
  const server = await startServer(t);
  await create(t, server, configmaps, configMap({ name: 'a', finalizers: ['example.com/hold'] }));
  const marked = await call(server, 'DELETE', `${configmaps}/a`);
  t.match(marked.json, { kind: 'ConfigMap', metadata: { deletionTimestamp: /Z$/, finalizers: ['example.com/hold'] } });
  t.equal((await call(server, 'GET', `${configmaps}/a`)).status, 200);
  const more = { metadata: { finalizers: ['example.com/hold', 'example.com/other'] } };
  const added = await call(server, 'PATCH', `${configmaps}/a`, { ...patch('merge-patch+json'), body: more });
  t.equal(added.status, 422, 'no finalizer joins an object that is going');
  const freed = { metadata: { finalizers: null } };
  t.equal((await call(server, 'PATCH', `${configmaps}/a`, { ...patch('merge-patch+json'), body: freed })).status, 200);
  t.equal((await call(server, 'GET', `${configmaps}/a`)).status, 404);
});

t.test('pods on a node are deleted gracefully', async (t) => {
  const server = await startServer(t);
  await create(t, server, pods, pod('waiting'));
  const gone = await call(server, 'DELETE', `${pods}/waiting`);
  t.equal(gone.json.kind, 'Pod');
  t.equal((await call(server, 'GET', `${pods}/waiting`)).status, 404, 'an unscheduled pod is removed at once');
  await create(t, server, pods, pod('running', { spec: { nodeName: 'n1' } }));
  const marked = (await call(server, 'DELETE', `${pods}/running`)).json;
  t.match(marked.metadata, { deletionTimestamp: /Z$/, deletionGracePeriodSeconds: 30 });
  const options = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 };
  await call(server, 'DELETE', `${pods}/running`, { body: { ...options, preconditions: { uid: 'other' } } });
  t.equal((await call(server, 'GET', `${pods}/running`)).status, 200, 'not this one');
  await call(server, 'DELETE', `${pods}/running`, {
    body: { ...options, preconditions: { uid: marked.metadata.uid } },
  });
  t.equal((await call(server, 'GET', `${pods}/running`)).status, 404);
});

t.test('deletecollection deletes the selected objects', async (t) => {
  const server = await startServer(t);
  for (const name of ['a', 'b', 'c'])
    await create(t, server, configmaps, configMap({ name, labels: { go: name === 'b' ? 'no' : 'yes' } }));
  const answer = await call(server, 'DELETE', `${configmaps}?labelSelector=go=yes`);
  t.match(answer.json, { kind: 'ConfigMapList', items: [{ metadata: { name: 'a' } }, { metadata: { name: 'c' } }] });
  const left = (await call(server, 'GET', configmaps)).json.items;
  t.same(
    left.map((item: { metadata: { name: string } }) => item.metadata.name),
    ['b'],
  );
});

t.test('binding', async (t) => {
  const server = await startServer(t);
  await create(t, server, pods, pod('p'));
  const binding = (node: string) => ({
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'p' },
    target: { kind: 'Node', name: node },
  });
  t.match((await call(server, 'POST', `${pods}/p/binding`, { body: binding('n1') })).json, { status: 'Success' });
  const bound = (await call(server, 'GET', `${pods}/p`)).json;
  t.equal(bound.spec.nodeName, 'n1');
  t.match(bound.status.conditions, [{ type: 'PodScheduled', status: 'True' }]);
  t.match((await call(server, 'POST', `${pods}/p/binding`, { body: binding('n2') })).json, {
    code: 409,
    message: /pod p is already assigned to node "n1"/,
  });
  t.equal(
    (await call(server, 'POST', `${pods}/none/binding`, { body: { ...binding('n'), metadata: { name: 'none' } } }))
      .status,
    404,
  );
  await create(t, server, pods, pod('q'));
  const old = await call(server, 'POST', '/api/v1/namespaces/default/bindings', {
    body: { ...binding('n3'), metadata: { name: 'q' } },
  });
  t.equal(old.status, 201, 'the old path');
});

t.test('status and spec are updated separately', async (t) => {
  const server = await startServer(t);
  const created = (await create(t, server, pods, { ...pod('p'), status: { phase: 'Failed' } })).json;
  t.not(created.status?.phase, 'Failed', 'a client does not set the status on create');
  const body = { ...created, status: { phase: 'Running' }, spec: { ...created.spec, nodeName: 'n9' } };
  const changed = (await call(server, 'PUT', `${pods}/p/status`, { body })).json;
  t.equal(changed.status.phase, 'Running');
  t.notOk(changed.spec.nodeName);
});

t.test('scale', async (t) => {
  const server = await startServer(t);
  await create(t, server, deployments, deployment('d', 2));
  const scale = (await call(server, 'GET', `${deployments}/d/scale`)).json;
  t.match(scale, { kind: 'Scale', apiVersion: 'autoscaling/v1', spec: { replicas: 2 }, status: { selector: 'app=d' } });
  const put = await call(server, 'PUT', `${deployments}/d/scale`, { body: { ...scale, spec: { replicas: 5 } } });
  t.equal(put.json.spec.replicas, 5);
  t.equal((await call(server, 'PUT', `${deployments}/d/scale`, { body: scale })).status, 409);
  const patched = await call(server, 'PATCH', `${deployments}/d/scale`, {
    ...patch('merge-patch+json'),
    body: { spec: { replicas: 7 } },
  });
  t.equal(patched.json.spec.replicas, 7);
  t.equal((await call(server, 'GET', `${deployments}/d`)).json.spec.replicas, 7);
  t.equal(
    (
      await call(server, 'PATCH', `${deployments}/d/scale`, {
        ...patch('merge-patch+json'),
        body: { spec: { replicas: -1 } },
      })
    ).status,
    422,
  );
  t.equal((await call(server, 'POST', `${deployments}/d/scale`, { body: scale })).status, 405);
  t.equal((await call(server, 'GET', `${deployments}/d/nothing`)).status, 404);
});

t.test('eviction uses the disruption budget', async (t) => {
  const server = await startServer(t);
  const labels = { app: 'x' };
  for (const name of ['a', 'b']) {
    const created = (await create(t, server, pods, pod(name, { metadata: { labels } }))).json;
    // Pods that are not ready do not use a budget.
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await call(server, 'PUT', `${pods}/${name}/status`, { body: { ...created, status } });
  }
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
  const spec = { minAvailable: 1, selector: { matchLabels: labels } };
  const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'x' }, spec };
  const created = (await create(t, server, budgets, budget)).json;
  const status = {
    disruptionsAllowed: 1,
    currentHealthy: 2,
    desiredHealthy: 1,
    expectedPods: 2,
    observedGeneration: created.metadata.generation ?? 0,
  };
  await call(server, 'PUT', `${budgets}/x/status`, { body: { ...created, status } });
  const evict = (name: string) =>
    call(server, 'POST', `${pods}/${name}/eviction`, {
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
    });
  t.equal((await evict('a')).status, 201);
  t.equal((await call(server, 'GET', `${pods}/a`)).status, 404);
  t.match((await evict('b')).json, {
    code: 429,
    reason: 'TooManyRequests',
    details: { causes: [{ reason: 'DisruptionBudget' }] },
  });
  t.equal((await call(server, 'GET', `${pods}/b`)).status, 200);
});

t.test('a body over the limit is refused before it is read', async (t) => {
  const server = await startServer(t, { https: true, options: { maxBodyBytes: 1000 } });
  const answer = await callHttps(server, 'POST', configmaps, {
    body: configMap({ name: 'a' }, { x: 'y'.repeat(5000) }),
  });
  t.match(answer.json, { kind: 'Status', code: 413, reason: 'RequestEntityTooLarge' });
});

t.test('types of patches', async (t) => {
  const server = await startServer(t, { gates: { ServerSideFieldValidation: true } });
  await create(t, server, deployments, deployment('d', 1));
  const send = (type: string, body: unknown) => call(server, 'PATCH', `${deployments}/d`, { ...patch(type), body });
  const replaced = await send('json-patch+json', [{ op: 'replace', path: '/spec/replicas', value: 3 }]);
  t.equal(replaced.json.spec.replicas, 3);
  const failed = await send('json-patch+json', [{ op: 'test', path: '/spec/replicas', value: 9 }]);
  t.equal(failed.status, 422);
  const containers = [{ name: 'sidecar', image: 's' }];
  const added = await send('strategic-merge-patch+json', { spec: { template: { spec: { containers } } } });
  t.same(
    added.json.spec.template.spec.containers.map(({ name }: { name: string }) => name),
    ['sidecar', 'c'],
  );
  const removed = [{ $patch: 'delete', name: 'sidecar' }];
  const back = await send('strategic-merge-patch+json', { spec: { template: { spec: { containers: removed } } } });
  t.equal(back.json.spec.template.spec.containers.length, 1);
  const odd = await send('merge-patch+json', { spec: { oddity: 1 } });
  t.equal(odd.headers['warning'], '299 - "unknown field \\"spec.oddity\\""');
  t.equal((await send('merge-patch+json', { spec: { replicas: 'many' } })).status, 422);
  t.equal((await send('merge-patch+json', { metadata: { name: 'other' } })).status, 400);
  t.equal((await send('merge-patch+json', [])).status, 422);
  t.equal((await call(server, 'PATCH', `${deployments}/none`, { ...patch('merge-patch+json'), body: {} })).status, 404);
});

t.test('a namespace is removed with its last finalizer', async (t) => {
  const server = await startServer(t);
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' }, spec: { finalizers: ['kubernetes'] } };
  const created = await create(t, server, '/api/v1/namespaces', body);
  t.same(created.json.spec.finalizers, ['kubernetes']);
  const going = await call(server, 'DELETE', '/api/v1/namespaces/n');
  t.match(going.json, { kind: 'Namespace', status: { phase: 'Terminating' }, metadata: { deletionTimestamp: /Z$/ } });
  const again = await call(server, 'DELETE', '/api/v1/namespaces/n');
  t.equal(again.status, 200, 'asking twice does no harm');
  const finalized = { ...again.json, spec: { finalizers: [] } };
  t.equal((await call(server, 'PUT', '/api/v1/namespaces/n/finalize', { body: finalized })).status, 200);
  t.equal((await call(server, 'GET', '/api/v1/namespaces/n')).status, 404);
});

t.test('updates create objects if the kind allows it', async (t) => {
  const server = await startServer(t);
  const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases/l';
  const body = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'l' },
    spec: { holderIdentity: 'a' },
  };
  const created = await call(server, 'PUT', path, { body });
  t.equal(created.status, 201, created.text);
  t.match(created.json.metadata, { uid: /./, namespace: 'default' });
  t.equal((await call(server, 'PUT', path, { body: { ...created.json, spec: { holderIdentity: 'b' } } })).status, 200);
});

t.test('server-side apply', async (t) => {
  const server = await startServer(t);
  const apply = (manager: string, body: unknown, query = '') =>
    call(server, 'PATCH', `${configmaps}/a?fieldManager=${manager}${query}`, { ...patch('apply-patch+yaml'), body });
  const created = await apply('one', configMap({ name: 'a' }, { x: '1', y: '1' }));
  t.equal(created.status, 201, created.text);
  t.match(created.json.metadata.managedFields, [
    { manager: 'one', operation: 'Apply', apiVersion: 'v1', fieldsV1: { 'f:data': { 'f:x': {}, 'f:y': {} } } },
  ]);
  const conflict = await apply('two', configMap({ name: 'a' }, { x: '2' }));
  t.match(conflict.json, { code: 409, reason: 'Conflict', details: { causes: [{ field: '.data.x' }] } });
  const forced = await apply('two', configMap({ name: 'a' }, { x: '2' }), '&force=true');
  t.equal(forced.json.data.x, '2');
  const dropped = await apply('one', configMap({ name: 'a' }, {}));
  t.same(dropped.json.data, { x: '2' }, 'unowned fields are removed, fields of other owners stay');
  const again = await apply('one', configMap({ name: 'a' }, {}));
  t.equal(again.json.metadata.resourceVersion, dropped.json.metadata.resourceVersion, 'nothing to write');
  const updated = await call(server, 'PATCH', `${configmaps}/a?fieldManager=three`, {
    ...patch('merge-patch+json'),
    body: { data: { z: '3' } },
  });
  t.match(
    updated.json.metadata.managedFields.find(({ manager }: { manager: string }) => manager === 'three'),
    { operation: 'Update', fieldsV1: { 'f:data': { 'f:z': {} } } },
  );
  t.equal((await apply('one', configMap({ name: 'a' }), '&dryRun=All')).status, 200);
  t.equal((await call(server, 'PATCH', `${configmaps}/a`, { ...patch('apply-patch+yaml'), body: '{}' })).status, 422);
  t.match((await apply('one', { ...configMap({ name: 'a' }), oddity: 1 })).json, { code: 500 });
});
