/** Release 1.24's treatment of odd writes: system metadata, repeated owners, mismatched names. */
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { MemoryStore } from '#storage/memory/memory-store.js';
import { type Answer, call, startServer } from '#test/integration/apiserver/server.js';

const configmaps = '/api/v1/namespaces/default/configmaps';
const pods = '/api/v1/namespaces/default/pods';
const jobs = '/apis/batch/v1/namespaces/default/jobs';

const configMap = (metadata: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
const containers = [{ name: 'c', image: 'i' }];
const pod = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers } });
const mergePatch = { 'content-type': 'application/merge-patch+json' };

async function make(server: ApiServer, path: string, body: object): Promise<Answer> {
  const answer = await call(server, 'POST', path, { body });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer;
}

t.test('system metadata of an update', async (t) => {
  const server = await startServer(t);
  const { metadata } = (await make(server, configmaps, configMap({ name: 'a' }))).json;
  const put = (change: object) => call(server, 'PUT', `${configmaps}/a`, { body: configMap({ name: 'a', ...change }) });
  const patch = (change: object, type = 'merge-patch+json') =>
    call(server, 'PATCH', `${configmaps}/a`, {
      headers: { 'content-type': `application/${type}` },
      body: { metadata: change },
    });
  const applied = (change: object) =>
    call(server, 'PATCH', `${configmaps}/a?fieldManager=t`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: configMap(change),
    });
  const long = '2001-01-01T00:00:00Z';
  for (const write of [put, patch, applied]) {
    const answer = await write({ creationTimestamp: long });
    t.equal(answer.status, 200, 'another time of creation');
    t.equal(answer.json.metadata.creationTimestamp, metadata.creationTimestamp, 'is passed over');
  }
  t.match((await put({ uid: 'other' })).json, {
    code: 409,
    reason: 'Conflict',
    message:
      /^Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: .*\/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: /,
  });
  for (const write of [patch, applied]) {
    t.match((await write({ uid: 'other' })).json, {
      code: 422,
      reason: 'Invalid',
      message: 'ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable',
      details: { causes: [{ field: 'metadata.uid', reason: 'FieldValueInvalid' }] },
    });
  }
  t.match((await patch({ uid: 'other' }, 'strategic-merge-patch+json')).json, { code: 422 });
  for (const write of [put, patch]) {
    t.match((await write({ deletionTimestamp: long })).json, {
      code: 422,
      message: `ConfigMap "a" is invalid: metadata.deletionTimestamp: Invalid value: 2001-01-01 00:00:00 +0000 UTC: field is immutable`,
    });
    t.match((await write({ deletionGracePeriodSeconds: 5 })).json, {
      code: 422,
      details: { causes: [{ field: 'metadata.deletionGracePeriodSeconds' }] },
    });
  }
  await call(server, 'PATCH', `${configmaps}/a`, {
    headers: mergePatch,
    body: { metadata: { finalizers: ['example.com/hold'] } },
  });
  const { json: dying } = await call(server, 'DELETE', `${configmaps}/a`);
  const extended = await patch({ deletionTimestamp: long });
  t.equal(extended.status, 200, 'of an object that is going away another time is passed over, too');
  t.equal(extended.json.metadata.deletionTimestamp, dying.metadata.deletionTimestamp);
});

t.test('a scale with another UID is refused', async (t) => {
  const server = await startServer(t);
  const labels = { a: 'b' };
  const controllers = '/api/v1/namespaces/default/replicationcontrollers';
  await make(server, controllers, {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'a' },
    spec: { template: { metadata: { labels }, spec: { containers } } },
  });
  const { json: scale } = await call(server, 'GET', `${controllers}/a/scale`);
  const body = { ...scale, metadata: { ...scale.metadata, uid: 'other' } };
  t.match((await call(server, 'PUT', `${controllers}/a/scale`, { body })).json, { code: 409 });
  t.equal((await call(server, 'PUT', `${controllers}/a/scale`, { body: scale })).status, 200);
});

t.test('repeated owners are dropped', async (t) => {
  const server = await startServer(t);
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u1', controller: true };
  const reordered = { uid: 'u1', controller: true, name: 'p', kind: 'Pod', apiVersion: 'v1' };
  const other = { ...owner, uid: 'u2', controller: false };
  const text = (uids: string, when = '') =>
    `299 - ".metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids}"`;
  const ownerReferences = [owner, other, reordered, other, owner];
  const created = await make(server, configmaps, configMap({ name: 'a', ownerReferences }));
  t.strictSame(created.json.metadata.ownerReferences, [owner, other]);
  t.equal(created.headers['warning'], text('u1, u2, u1'));
  const put = await call(server, 'PUT', `${configmaps}/a`, { body: configMap({ name: 'a', ownerReferences }) });
  t.strictSame(put.json.metadata.ownerReferences, [owner, other]);
  t.equal(put.headers['warning'], text('u1, u2, u1'));
  const patched = await call(server, 'PATCH', `${configmaps}/a`, {
    headers: mergePatch,
    body: { metadata: { ownerReferences } },
  });
  t.equal(patched.status, 200);
  t.strictSame(patched.json.metadata.ownerReferences, [owner, other]);
  t.equal(patched.headers['warning'], text('u1, u2, u1', ' after mutating admission happens'));
  const unlike = [owner, { ...owner, name: 'q' }];
  const refused = await call(server, 'POST', configmaps, { body: configMap({ name: 'b', ownerReferences: unlike }) });
  t.match(refused.json, { code: 422, message: /Only one reference can have Controller set to true/ });
});

t.test('updates without a required version are refused in 1.24’s words', async (t) => {
  const server = await startServer(t);
  const drivers = '/apis/storage.k8s.io/v1/csidrivers';
  const driver = { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: 'a' }, spec: {} };
  await make(server, drivers, driver);
  t.match((await call(server, 'PUT', `${drivers}/a`, { body: driver })).json, {
    code: 422,
    message:
      'csidrivers.storage.k8s.io "a" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update',
    details: { group: 'storage.k8s.io', kind: 'csidrivers', causes: [{ field: 'metadata.resourceVersion' }] },
  });
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'r' }, rules: [] };
  const put = await call(server, 'PUT', '/apis/rbac.authorization.k8s.io/v1/clusterroles/r', { body: role });
  t.equal(put.status, 201, 'as does one that creates');
});

t.test('names in bodies of subresources', async (t) => {
  const server = await startServer(t);
  await make(server, pods, pod('p'));
  const eviction = (metadata: object) => ({ apiVersion: 'policy/v1', kind: 'Eviction', metadata });
  for (const metadata of [{ name: 'q' }, {}]) {
    t.match((await call(server, 'POST', `${pods}/p/eviction`, { body: eviction(metadata) })).json, {
      code: 400,
      reason: 'BadRequest',
      message: 'name in URL does not match name in Eviction object',
    });
  }
  const elsewhere = await call(server, 'POST', `${pods}/p/eviction`, {
    body: eviction({ name: 'p', namespace: 'other' }),
  });
  t.match(elsewhere.json, {
    code: 400,
    message: 'the namespace of the provided object does not match the namespace sent on the request',
  });
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'q' }, target: { kind: 'Node', name: 'n' } };
  t.match((await call(server, 'POST', `${pods}/p/binding`, { body: binding })).json, {
    code: 400,
    message: 'name in URL does not match name in Binding object',
  });
  const stale = { ...binding, metadata: { name: 'p', resourceVersion: '1' } };
  t.match((await call(server, 'POST', `${pods}/p/binding`, { body: stale })).json, {
    code: 409,
    message:
      /^Operation cannot be fulfilled on pods "p": StorageError: .* Precondition failed: ResourceVersion in precondition: 1, /,
  });
  const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  t.match((await call(server, 'GET', `${pods}?includeObject=Everything`, { headers: table })).json, {
    code: 400,
    reason: 'BadRequest',
    message: `Unable to convert to Table as requested: includeObject: Invalid value: "Everything": must be 'Metadata', 'Object', 'None', or empty`,
  });
});

t.test('a selector that is invalid protects no pod', async (t) => {
  const server = await startServer(t);
  await make(server, pods, pod('p'));
  await call(server, 'PATCH', `${pods}/p/status`, { headers: mergePatch, body: { status: { phase: 'Running' } } });
  const matchExpressions = [{ key: 'a', operator: 'NotIn', values: ['Bad Value!'] }];
  await make(server, '/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'b' },
    spec: { minAvailable: 1, selector: { matchExpressions } },
  });
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
  t.equal((await call(server, 'POST', `${pods}/p/eviction`, { body })).status, 201);
});

t.test('labels of jobs', async (t) => {
  const server = await startServer(t);
  const job = (metadata: object, labels?: object, more: object = {}) => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: {
      template: { ...(labels && { metadata: { labels } }), spec: { containers, restartPolicy: 'Never' } },
      ...more,
    },
  });
  const labelsOf = async (body: object) => {
    const { json } = await make(server, jobs, body);
    return { own: json.metadata.labels, pods: json.spec.template.metadata.labels, uid: json.metadata.uid };
  };
  const plain = await labelsOf(job({ name: 'plain' }));
  t.strictSame(plain.own, { 'controller-uid': plain.uid, 'job-name': 'plain' });
  t.strictSame(plain.pods, plain.own);
  const labelled = await labelsOf(job({ name: 'labelled' }, { a: 'b' }));
  t.strictSame(labelled.own, { a: 'b', 'controller-uid': labelled.uid, 'job-name': 'labelled' });
  const own = await labelsOf(job({ name: 'own', labels: { a: 'b' } }, { a: 'b' }));
  t.strictSame(own.own, { a: 'b' }, 'its own labels are unchanged');
  t.strictSame(own.pods, { a: 'b', 'controller-uid': own.uid, 'job-name': 'own' });
  const generated = await make(server, jobs, job({ generateName: 'g-' }, { a: 'b' }));
  const { name, labels } = generated.json.metadata;
  t.equal(labels['job-name'], name);
  const manual = job({ name: 'manual' }, { a: 'b' }, { manualSelector: true, selector: { matchLabels: { a: 'b' } } });
  t.strictSame((await labelsOf(manual)).own, { a: 'b' });
  const { metadata: _metadata, ...rest } = (await call(server, 'GET', `${jobs}/plain`)).json;
  const put = await call(server, 'PUT', `${jobs}/plain`, { body: { ...rest, metadata: { name: 'plain' } } });
  t.strictSame(put.json.metadata.labels, plain.own, 'omitted labels are restored');
});

t.test('various rules', async (t) => {
  const server = await startServer(t);
  const ranges = '/api/v1/namespaces/default/limitranges';
  const range = (metadata: object) => ({ apiVersion: 'v1', kind: 'LimitRange', metadata, spec: { limits: [] } });
  t.match((await make(server, ranges, range({}))).json.metadata.name, /^[0-9a-f-]{36}$/, 'a range is named');
  t.match((await make(server, ranges, range({ generateName: 'g-' }))).json.metadata.name, /^g-.{5}$/);

  const big = { ...configMap({ name: 'big' }), data: { a: 'x'.repeat(1024 * 1024 + 1) } };
  t.match((await call(server, 'POST', configmaps, { body: big })).json, {
    code: 422,
    message: 'ConfigMap "big" is invalid: []: Too long: must have at most 1048576 bytes',
    details: { causes: [{ field: '[]', reason: 'FieldValueTooLong' }] },
  });

  const secured = (procMount: string) => ({
    ...pod('p'),
    spec: { containers: [{ name: 'c', image: 'No Image', securityContext: { procMount } }] },
  });
  const dry = `${pods}?dryRun=All`;
  for (const procMount of ['Default', 'Unmasked']) {
    const { containers } = (await make(server, dry, secured(procMount))).json.spec;
    t.equal(containers[0].securityContext.procMount, 'Default', `${procMount} without its gate`);
    t.equal(containers[0].imagePullPolicy, 'IfNotPresent', 'without an image');
  }

  const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      dataSource: { kind: 'PersistentVolumeClaim', name: 'other' },
    },
  };
  await make(server, claims, claim);
  t.equal((await call(server, 'PUT', `${claims}/c`, { body: claim })).status, 200, 'a client of the older source');
});

t.test('selectors with invalid label values', async (t) => {
  const server = await startServer(t);
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers } };
  const once = { ...template, spec: { containers, restartPolicy: 'Never' } };
  const bad = 'Bad Value!';
  const byLabels = { matchLabels: { a: bad } };
  const byExpression = { matchExpressions: [{ key: 'a', operator: 'In', values: ['b', bad] }] };
  const mismatch = 'spec.template.metadata.labels';
  type Row = readonly [group: string, kind: string, plural: string, spec: object, fields: readonly string[]];
  const ofApps = (kind: string): Row[] => [
    ['apps/v1', kind, `${kind.toLowerCase()}s`, { selector: byExpression, template }, ['spec.selector']],
    [
      'apps/v1',
      kind,
      `${kind.toLowerCase()}s`,
      // The template is not validated.
      { selector: byLabels, template: { spec: {} } },
      ['spec.selector.matchLabels', 'spec.selector'],
    ],
  ];
  const rows: readonly Row[] = [
    ['v1', 'ReplicationController', 'replicationcontrollers', { selector: { a: bad }, template }, [mismatch]],
    ['v1', 'ReplicationController', 'replicationcontrollers', { selector: { 'b c': 'b' }, template }, [mismatch]],
    ...ofApps('ReplicaSet'),
    ...ofApps('Deployment'),
    [
      'apps/v1',
      'StatefulSet',
      'statefulsets',
      { selector: byExpression, template, serviceName: 's' },
      ['spec.selector'],
    ],
    ['apps/v1', 'DaemonSet', 'daemonsets', { selector: byLabels, template }, ['spec.selector.matchLabels']],
    ['apps/v1', 'DaemonSet', 'daemonsets', { selector: byExpression, template }, []],
    [
      'batch/v1',
      'Job',
      'jobs',
      { manualSelector: true, selector: byLabels, template: once },
      ['spec.selector.matchLabels'],
    ],
    ['batch/v1', 'Job', 'jobs', { manualSelector: true, selector: byExpression, template: once }, []],
    ['policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', { selector: byLabels }, ['spec.selector.matchLabels']],
    ['policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', { selector: byExpression }, []],
    // A service's selector consists of labels only.
    ['v1', 'Service', 'services', { selector: { a: bad }, ports: [{ port: 80 }] }, ['spec.selector']],
  ];
  for (const [apiVersion, kind, plural, spec, fields] of rows) {
    const api = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const body = { apiVersion, kind, metadata: { name: 'x' }, spec };
    const { status, json } = await call(server, 'POST', `${api}/namespaces/default/${plural}?dryRun=All`, { body });
    const causes: { field: string }[] = json.details?.causes ?? [];
    const name = `${kind} ${JSON.stringify(spec)}`;
    t.strictSame(
      causes.map(({ field }) => field),
      fields,
      name,
    );
    t.equal(status, fields.length === 0 ? 201 : 422, name);
  }
  const affinity = {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: byExpression, topologyKey: 'zone' }],
    },
  };
  const body = { ...pod('p'), spec: { containers, affinity } };
  t.equal((await call(server, 'POST', `${pods}?dryRun=All`, { body })).status, 201, 'affinity');
});

t.test('of the template of a stateful set only the metadata is validated', async (t) => {
  const server = await startServer(t);
  const sets = '/apis/apps/v1/namespaces/default/statefulsets?dryRun=All';
  const labels = { a: 'b' };
  const set = (spec: object, metadata: object = { labels }) => ({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'x' },
    spec: { serviceName: 's', selector: { matchLabels: labels }, template: { metadata, spec } },
  });
  const volumeMounts = [{ name: 'nowhere', mountPath: 'relative:path' }];
  const odd = set({ containers: [{ name: 'No Label', image: 'i', volumeMounts }] });
  t.equal((await call(server, 'POST', sets, { body: odd })).status, 201);
  const refused = await call(server, 'POST', sets, {
    body: set(
      { containers, restartPolicy: 'Never', activeDeadlineSeconds: 1 },
      { labels: { a: 'b', c: 'd e' }, annotations: { 'f g': '' } },
    ),
  });
  t.strictSame(
    refused.json.details.causes.map(({ field }: { field: string }) => field),
    [
      'spec.template.labels',
      'spec.template.annotations',
      'spec.template.spec.restartPolicy',
      'spec.template.spec.activeDeadlineSeconds',
    ],
  );
});

t.test('lists that are always present, even if empty', async (t) => {
  const store = new MemoryStore({ clock: realClock });
  t.teardown(() => store.close());
  const server = await startServer(t, { store });
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const watch = call(server, 'GET', `${rbac}/clusterroles?watch=1&timeoutSeconds=2`);
  const role = { apiVersion, kind: 'ClusterRole', metadata: { name: 'r' } };
  for (const [name, rules] of [
    ['r', undefined],
    ['s', []],
    ['t', null],
  ] as const) {
    const body = { ...role, metadata: { name }, rules };
    t.equal((await make(server, `${rbac}/clusterroles`, body)).json.rules, null, `of rules ${JSON.stringify(rules)}`);
  }
  const got = await call(server, 'GET', `${rbac}/clusterroles/r`);
  t.match(got.text, /"rules":null/);
  t.match((await call(server, 'GET', `${rbac}/clusterroles/r?pretty=1`)).text, /"rules": null/);
  const yaml = { headers: { accept: 'application/yaml' } };
  t.match((await call(server, 'GET', `${rbac}/clusterroles/r`, yaml)).text, /^rules: null$/m);
  t.match((await call(server, 'GET', `${rbac}/clusterroles`)).json.items, [{ rules: null }, { rules: null }]);
  t.match((await call(server, 'GET', `${rbac}/clusterroles`, yaml)).text, /^ +rules: null$/m);
  t.match((await watch).text, /"rules":null/);
  const same = await call(server, 'PUT', `${rbac}/clusterroles/r`, { body: got.json });
  t.equal(same.json.metadata.resourceVersion, got.json.metadata.resourceVersion, 'it is unchanged');
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
  const patched = await call(server, 'PATCH', `${rbac}/clusterroles/r`, { headers: mergePatch, body: { rules } });
  t.match(patched.json, { rules });

  const other = await startServer(t, { store });
  t.equal((await call(other, 'GET', `${rbac}/clusterroles/s`)).json.rules, null, 'at a server that only read it');
  const labelled = await call(other, 'PATCH', `${rbac}/clusterroles/s`, {
    headers: mergePatch,
    body: { metadata: { labels: { a: 'b' } } },
  });
  t.match(labelled.json, { metadata: { labels: { a: 'b' } }, rules: null });

  const range = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'a' }, spec: {} };
  t.strictSame((await make(server, '/api/v1/namespaces/default/limitranges', range)).json.spec, { limits: null });
  const node = { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name: 'a' }, spec: {} };
  t.strictSame((await make(server, '/apis/storage.k8s.io/v1/csinodes', node)).json.spec, { drivers: null });
  const autoscaler = {
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'a' },
    spec: { maxReplicas: 1, scaleTargetRef: { kind: 'A', name: 'a' } },
  };
  const older = '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers';
  await make(server, `${older}?dryRun=All`, autoscaler);
  await make(server, older, autoscaler);
  t.equal((await call(server, 'PUT', `${older}/a?dryRun=All`, { body: autoscaler })).status, 200, 'a dry run');
  t.equal((await call(server, 'DELETE', `${older}/a?dryRun=All`)).status, 200);
  const newer = await call(server, 'GET', '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/a');
  t.equal(newer.json.status.currentMetrics, null, 'in only one version of the kind');
});
