/** Subresources that are views of the stored object: each changes only its part and refuses malformed objects. */
import t, { type Test } from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { SubresourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { everyCase, gateFor } from '#test/integration/apiserver/resources/every-case.js';
import type { AnyCase } from '#test/integration/apiserver/resources/resource-case.js';
import { type Answer, call, startServer } from '#test/integration/apiserver/server.js';

const time = '2024-05-01T12:00:00Z';
const condition = (type: string, more: object = {}) => ({
  conditions: [{ type, status: 'True', lastTransitionTime: time, reason: 'Tested', message: 'said so', ...more }],
});
const replicas = { replicas: 2, readyReplicas: 1 };
const ingress = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };

/** A valid status of each kind. */
const statuses: Readonly<Record<string, object>> = {
  apiservices: condition('Available'),
  certificatesigningrequests: { certificate: '' },
  cronjobs: { lastScheduleTime: time },
  customresourcedefinitions: { ...condition('Established'), storedVersions: ['v1'] },
  daemonsets: { numberReady: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2 },
  deployments: replicas,
  flowschemas: condition('Dangling'),
  horizontalpodautoscalers: { currentReplicas: 1, desiredReplicas: 2 },
  ingresses: ingress,
  jobs: { active: 2 },
  namespaces: condition('NamespaceDeletionContentFailure'),
  networkpolicies: condition('Accepted'),
  nodes: condition('Ready'),
  persistentvolumeclaims: { phase: 'Lost' },
  persistentvolumes: { phase: 'Failed', message: 'lost' },
  poddisruptionbudgets: { currentHealthy: 1, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 0 },
  pods: { ...condition('Ready'), phase: 'Running', podIP: '192.0.2.2', podIPs: [{ ip: '192.0.2.2' }] },
  prioritylevelconfigurations: condition('Dangling'),
  replicasets: replicas,
  replicationcontrollers: replicas,
  resourcequotas: { hard: { pods: '4' }, used: { pods: '2' } },
  services: ingress,
  statefulsets: replicas,
  storageversions: {
    commonEncodingVersion: 'v1',
    storageVersions: [{ apiServerID: 'a', encodingVersion: 'v1', decodableVersions: ['v1'] }],
  },
  volumeattachments: { attached: true },
};

/** A kind that no subresource accepts. */
const stranger = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } };
const merge = { 'content-type': 'application/merge-patch+json' };

function collectionOf({ resource }: AnyCase): string {
  const group = dialect.groupName(resource.group);
  const root = group === '' ? '/api/v1' : `/apis/${group}/${resource.version}`;
  return resource.namespaced ? `${root}/namespaces/default/${resource.resource}` : `${root}/${resource.resource}`;
}

class Fixture {
  readonly path: string;
  readonly #server: ApiServer;
  readonly #given: AnyCase;

  constructor(server: ApiServer, given: AnyCase) {
    this.#server = server;
    this.#given = given;
    this.path = `${collectionOf(given)}/${given.object(dialect).metadata.name}`;
  }

  call(method: string, suffix: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return call(this.#server, method, this.path + suffix, { headers, ...(body === undefined ? {} : { body }) });
  }

  create(): Promise<Answer> {
    return call(this.#server, 'POST', collectionOf(this.#given), { body: this.#given.object(dialect) });
  }
}

/** Refusals common to all subresources that are read and written. */
async function refusals(t: Test, fixture: Fixture, { name, verbs }: SubresourceDeclaration): Promise<void> {
  const suffix = `/${name}`;
  const readable = verbs.includes('get');
  t.equal((await fixture.call('GET', suffix)).status, readable ? 200 : 405, 'get');
  t.equal((await fixture.call('DELETE', suffix)).status, 405, 'delete');
  t.equal((await fixture.call('POST', suffix, stranger)).status, 405, 'create');
  const current = (await fixture.call('GET', readable ? suffix : '')).json;
  const renamed = { ...current, metadata: { ...current.metadata, name: 'another' } };
  const stale = { ...current, metadata: { ...current.metadata, resourceVersion: '1' } };
  const rows: [string, unknown, Record<string, string>, object][] = [
    ['another kind', stranger, {}, { code: 400, reason: 'BadRequest', message: /ConfigMap.*cannot be handled as a / }],
    ['no JSON', '{"kind":', {}, { code: 400, reason: 'BadRequest' }],
    ['an unknown media type', current, { 'content-type': 'text/plain' }, { code: 415 }],
    ['another name', renamed, {}, { code: 400, reason: 'BadRequest', message: /does not match the name on the URL/ }],
    ['an old version', stale, {}, { code: 409, reason: 'Conflict' }],
    ['an unknown field', { ...current, odd: 1 }, { strict: 'yes' }, { code: 400, message: /unknown field "odd"/ }],
  ];
  for (const [what, body, { strict, ...headers }, expected] of rows) {
    const answer = await fixture.call(
      'PUT',
      strict === undefined ? suffix : `${suffix}?fieldValidation=Strict`,
      body,
      headers,
    );
    t.match(answer.json, expected, `${what}: ${answer.text}`);
  }
  if (!verbs.includes('patch')) return;
  const unknown = await fixture.call('PATCH', suffix, {}, { 'content-type': 'application/json' });
  t.equal(unknown.status, 415, 'an unknown kind of patch');
  t.equal((await fixture.call('PATCH', suffix, '[', merge)).status, 400, 'a patch that is no JSON');
  const old = { metadata: { resourceVersion: '1' } };
  t.match((await fixture.call('PATCH', suffix, old, merge)).json, { code: 409, reason: 'Conflict' });
}

async function status(t: Test, fixture: Fixture, resource: string): Promise<void> {
  const status = statuses[resource];
  if (status === undefined) throw new Error(`no status for ${resource}`);
  const before = (await fixture.call('GET', '')).json;
  const put = await fixture.call('PUT', '/status', {
    ...before,
    spec: { odd: 1 },
    status: { ...before.status, ...status },
  });
  t.equal(put.status, 200, put.text);
  t.match(put.json.status, without(status, 'certificate'), 'the status is written');
  t.strictSame(put.json.spec, before.spec, 'the spec is unchanged');
  t.equal(put.json.metadata.generation, before.metadata.generation, 'without a new generation');
  t.strictSame((await fixture.call('GET', '/status')).json, put.json);
  const patch = await fixture.call('PATCH', '/status', { status: status, spec: null }, merge);
  t.equal(patch.status, 200, patch.text);
  t.strictSame(patch.json.spec, before.spec, 'as does a patch');
  const { status: written, metadata } = patch.json;
  const main = await fixture.call('PUT', '', { ...before, metadata: { ...metadata, labels: { a: 'b' } }, status: {} });
  t.equal(main.status, 200, main.text);
  t.strictSame(main.json.status, written, 'the object itself leaves the status alone');
}

function without(object: object, key: string): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
}

async function scale(t: Test, fixture: Fixture): Promise<void> {
  const got = (await fixture.call('GET', '/scale')).json;
  const { metadata } = (await fixture.call('GET', '')).json;
  t.match(got, {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name: metadata.name,
      namespace: 'default',
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
    },
    spec: { replicas: Number },
    status: { replicas: Number, selector: /=/ },
  });
  const put = await fixture.call('PUT', '/scale', { ...got, spec: { replicas: 7 } });
  t.equal(put.json.spec.replicas, 7, put.text);
  t.equal((await fixture.call('GET', '')).json.spec.replicas, 7);
  const zero = await fixture.call('PATCH', '/scale', { spec: { replicas: 0 } }, merge);
  t.strictSame(zero.json.spec, {}, 'zero is left out');
  const negative = await fixture.call('PATCH', '/scale', { spec: { replicas: -1 } }, merge);
  t.match(negative.json, { code: 422, details: { causes: [{ field: 'spec.replicas', reason: 'FieldValueInvalid' }] } });
  t.match((await fixture.call('PATCH', '/scale', { spec: { replicas: 'many' } }, merge)).json, { code: 422 });
  const strictly = await fixture.call('PATCH', '/scale?fieldValidation=Strict', { spec: { odd: 1 } }, merge);
  t.match(strictly.json, { code: 422, message: /strict decoding error: unknown field "spec.odd"/ });
  const { name } = metadata;
  const { kind, apiVersion } = got;
  const apply = (spec: object, own: object = { name }) => {
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    return fixture.call(
      'PATCH',
      '/scale?fieldManager=m&force=true',
      { kind, apiVersion, metadata: own, spec },
      headers,
    );
  };
  t.match((await apply({ replicas: 3 })).json, { spec: { replicas: 3 } });
  t.strictSame((await apply({ replicas: 0 })).json.spec, {}, 'zero is a number, too');
  t.equal((await fixture.call('GET', '')).json.spec.replicas, 0);
  t.match((await apply({ replicas: 4 }, {})).json, { spec: { replicas: 4 } }, 'the name may be left to the path');
  t.match((await apply({ replicas: 4 }, { name: 'other' })).json, { code: 400 }, 'another name than that of the path');
  t.match((await apply({ odd: 1 })).json, { code: 500, message: /\.spec\.odd: field not declared in schema/ });
}

async function approval(t: Test, fixture: Fixture): Promise<void> {
  const request = (await fixture.call('GET', '')).json;
  const decided = (conditions: object[]) => ({
    ...request,
    metadata: { name: request.metadata.name },
    status: { conditions },
  });
  const approved = { type: 'Approved', status: 'True', reason: 'Tested', message: 'fine' };
  const denied = { ...approved, type: 'Denied' };
  const put = await fixture.call('PUT', '/approval', decided([approved]));
  t.match(put.json.status.conditions, [{ ...approved, lastUpdateTime: /Z$/, lastTransitionTime: /Z$/ }], put.text);
  t.strictSame(put.json.spec, request.spec);
  t.match((await fixture.call('PUT', '/approval', decided([approved, denied]))).json, { code: 422, reason: 'Invalid' });
  t.match((await fixture.call('PUT', '/approval', decided([]))).json, { code: 422, reason: 'Invalid' }, 'for good');
  t.match((await fixture.call('PUT', '/status', decided([denied]))).json, { code: 422, reason: 'Invalid' }, 'not here');
}

t.test('views of the stored object', async (t) => {
  const server = await startServer(t, {
    dialect,
    dependencies: { gate: gateFor(everyCase, 'ServerSideFieldValidation', 'NetworkPolicyStatus') },
  });
  const views = new Set(['status', 'scale', 'approval', 'finalize', 'ephemeralcontainers']);
  for (const given of everyCase) {
    const { resource, version, subresources = [] } = given.resource;
    for (const declared of subresources.filter(({ name }) => views.has(name))) {
      await t.test(`${version} ${resource}/${declared.name}`, async (t) => {
        const fixture = new Fixture(server, given);
        const created = await fixture.create();
        t.ok(created.status === 201 || created.status === 409, created.text);
        await refusals(t, fixture, declared);
        if (declared.name === 'status') await status(t, fixture, resource);
        if (declared.name === 'scale') await scale(t, fixture);
        if (declared.name === 'approval') await approval(t, fixture);
        await fixture.call('DELETE', '');
      });
    }
  }
});

t.test('operations on a pod accept only their own kind', async (t) => {
  const server = await startServer(t, { dialect });
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const pods = '/api/v1/namespaces/default/pods';
  t.equal((await call(server, 'POST', pods, { body: pod })).status, 201);
  const binding = { kind: 'Binding', apiVersion: 'v1', metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } };
  const eviction = { kind: 'Eviction', apiVersion: 'policy/v1', metadata: { name: 'p' } };
  const rows: [string, unknown, object][] = [
    ['binding', stranger, { code: 400, message: /cannot be handled as a Binding/ }],
    ['binding', { ...binding, target: {} }, { code: 500, message: 'target.name: Required value' }],
    [
      'binding',
      { ...binding, target: { kind: 'Pod', name: 'n' } },
      { code: 500, message: /^target\.kind: Unsupported value: "Pod"/ },
    ],
    ['binding', { ...binding, metadata: { name: 'q' } }, { code: 400 }],
    ['binding', { ...binding, metadata: { name: 'p', uid: 'other' } }, { code: 409, message: /UID in precondition/ }],
    ['eviction', stranger, { code: 400, message: /cannot be handled as a?n? ?Eviction/ }],
    ['eviction', { ...eviction, metadata: { name: 'q' } }, { code: 400 }],
    ['eviction', { ...eviction, deleteOptions: { preconditions: { uid: 'other' } } }, { code: 409 }],
  ];
  for (const [name, body, expected] of rows) {
    const answer = await call(server, 'POST', `${pods}/p/${name}`, { body });
    t.match(answer.json, expected, `${name}: ${answer.text}`);
    t.equal((await call(server, 'GET', `${pods}/p/${name}`)).status, 405);
  }
  t.equal((await call(server, 'POST', `${pods}/p/binding?dryRun=All`, { body: binding })).status, 201);
  t.notOk((await call(server, 'GET', `${pods}/p`)).json.spec.nodeName, 'a dry run binds nothing');
  t.equal((await call(server, 'POST', `${pods}/p/binding`, { body: binding })).status, 201);
  t.equal((await call(server, 'GET', `${pods}/p`)).json.spec.nodeName, 'n');
  t.match((await call(server, 'POST', `${pods}/p/eviction?dryRun=All`, { body: eviction })).status, 201);
  t.equal((await call(server, 'GET', `${pods}/p`)).json.metadata.deletionTimestamp, undefined);
});
