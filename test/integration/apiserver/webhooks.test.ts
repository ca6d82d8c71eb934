/** Admission webhooks as real servers: their requests, and the effects of their valid and invalid answers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { sendJson, startWebhook, type WebhookServer } from '#apiserver/webhooks/testing/webhook-server.js';
import { startWebhookCluster, type WebhookCluster } from '#test/integration/apiserver/webhooks/cluster.js';

// biome-ignore lint/suspicious/noExplicitAny: as the wire has it
type Any = any;

interface Hook {
  readonly server: WebhookServer;
  /** Requests that it has reviewed. */
  readonly requests: Any[];
  /** Its next answer: the response without uid, or a handler. */
  answer: object | ((review: Any, response: ServerResponse) => void);
}

async function startHook(t: Test): Promise<Hook> {
  const requests: Any[] = [];
  const server = await startWebhook(t, (text, response) => {
    const review = JSON.parse(text);
    // The server's own writes come at any time.
    if (review.request.resource.resource !== 'flowschemas') requests.push(review.request);
    const { answer } = hook;
    if (typeof answer === 'function') answer(review, response);
    else respond(response, review, answer);
  });
  const hook: Hook = { server, requests: requests, answer: { allowed: true } };
  return hook;
}

function respond(response: ServerResponse, { apiVersion, kind, request }: Any, answer: object): void {
  sendJson(response, { apiVersion, kind, response: { uid: request.uid, ...answer } });
}

const patch = (...operations: object[]) => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});
const add = (path: string, value: unknown) => ({ op: 'add', path, value });

const rule = (resources: string[], operations = ['*'], apiGroups = ['*'], apiVersions = ['*']) => ({
  operations,
  apiGroups,
  apiVersions,
  resources,
});

function webhook({ server }: Hook, more: object = {}, name = 'a.b.test') {
  return {
    name,
    clientConfig: { url: `https://127.0.0.1:${server.port}/check`, caBundle: server.caBundle },
    rules: [rule(['configmaps'])],
    // Only objects of the tests.
    objectSelector: { matchExpressions: [{ key: 'probe', operator: 'DoesNotExist' }] },
    namespaceSelector: { matchLabels: { hooked: 'yes' } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...more,
  };
}

const maps = '/api/v1/namespaces/shop/configmaps';
const map = (name: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...more });

/** A cluster with a namespace whose objects are sent to webhooks. */
async function setUp(
  t: Test,
  dialect: Dialect = kubernetesDialect,
  args: readonly string[] = [],
): Promise<WebhookCluster> {
  const cluster = await startWebhookCluster(t, dialect, args);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels: { hooked: 'yes' } } };
  t.equal((await cluster.send('POST', '/api/v1/namespaces', namespace)).status, 201);
  return cluster;
}

for (const dialect of [kubernetesDialect, orchDialect]) {
  t.test(`webhooks review and change objects: ${dialect.name}`, async (t) => {
    const cluster = await setUp(t, dialect);
    const hook = await startHook(t);
    hook.answer = {
      ...patch(add('/data', { by: 'hook' }), add('/metadata/labels', { seen: 'yes' }), add('/nonsense', 1)),
      warnings: ['mind the gap'],
      auditAnnotations: { why: 'because' },
    };
    await cluster.configure('Mutating', 'first', [webhook(hook)]);
    const created = await cluster.send('POST', `${maps}?fieldManager=me`, map('one'));
    t.equal(created.status, 201);
    t.same(created.warnings, ['mind the gap']);
    t.match(created.body, { metadata: { name: 'one', labels: { seen: 'yes' } }, data: { by: 'hook' } });
    t.notOk('nonsense' in created.body, 'unknown members go');
    const [request] = hook.requests;
    const kind = { group: '', version: 'v1', kind: 'ConfigMap' };
    const resource = { group: '', version: 'v1', resource: 'configmaps' };
    t.match(request, {
      uid: /^[0-9a-f-]{36}$/,
      kind,
      resource,
      requestKind: kind,
      requestResource: resource,
      name: 'one',
      namespace: 'shop',
      operation: 'CREATE',
      userInfo: { username: 'alice', uid: 'u1', groups: [dialect.groups.masters], extra: { team: ['a'] } },
      object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'shop' } },
      oldObject: null,
      dryRun: false,
      options: { apiVersion: dialect.apiVersion('meta', 'v1'), kind: 'CreateOptions', fieldManager: 'me' },
    });
    t.notOk('subResource' in request);

    hook.answer = patch(add('/data/again', 'yes'));
    const merge = 'application/merge-patch+json';
    const changed = await cluster.send('PATCH', `${maps}/one?dryRun=All`, { data: { more: '1' } }, merge);
    t.same(changed.body.data, { by: 'hook', more: '1', again: 'yes' });
    t.match(hook.requests[1], { operation: 'UPDATE', dryRun: true, oldObject: { data: { by: 'hook' } } });
    t.match(hook.requests[1].options, { kind: 'UpdateOptions', dryRun: ['All'] });
    const applied = await cluster.send(
      'PATCH',
      `${maps}/one?fieldManager=applier&force=true`,
      map('one', { data: { mine: '1' } }),
      'application/apply-patch+yaml',
    );
    t.same(applied.body.data, { by: 'hook', mine: '1', again: 'yes' });
    const applier = applied.body.metadata.managedFields.find((each: Any) => each.manager === 'applier');
    t.same(applier.fieldsV1['f:data'], { 'f:mine': {} }, 'fields set by the webhook are not owned by the applier');

    hook.answer = { allowed: true };
    t.equal((await cluster.send('DELETE', `${maps}/one`, { propagationPolicy: 'Background' })).status, 200);
    const last = hook.requests.at(-1);
    t.match(last, { operation: 'DELETE', object: null, oldObject: { data: { mine: '1' } } });
    t.match(last.options, { kind: 'DeleteOptions', propagationPolicy: 'Background' });
    hook.answer = patch(add('/data', {}));
    await cluster.send('POST', maps, map('two'));
    const refused = await cluster.send('DELETE', `${maps}/two`);
    t.match(refused, {
      status: 500,
      body: { message: /"a\.b\.test" attempted to modify the object, which is not supported/ },
    });

    const types = await cluster.metrics(
      'apiserver_admission_webhook_request_total{code="200",name="a.b.test",operation="CREATE"',
    );
    t.match(types, [/rejected="false",type="admit"\} 2$/]);
  });
}

t.test('validating webhooks refuse requests', async (t) => {
  const cluster = await setUp(t);
  const [first, second] = [await startHook(t), await startHook(t)];
  // Both run at once: neither answers before both have been called.
  let waiting: (() => void)[] = [];
  const together = (review: Any, response: ServerResponse) => {
    waiting.push(() => respond(response, review, { allowed: true }));
    if (waiting.length < 2) return;
    for (const answer of waiting) answer();
    waiting = [];
  };
  first.answer = together;
  second.answer = together;
  await cluster.configure('Validating', 'both', [webhook(first), webhook(second, {}, 'c.d.test')]);
  t.equal((await cluster.send('POST', maps, map('one'))).status, 201);
  first.answer = { allowed: true };
  const cases: [answer: object, code: number, message: string, reason: string | undefined][] = [
    [{ allowed: false }, 400, 'admission webhook "c.d.test" denied the request without explanation', undefined],
    [
      { allowed: false, status: { code: 200, status: 'Success', message: 'fine' } },
      400,
      'admission webhook "c.d.test" denied the request: fine',
      undefined,
    ],
    [
      { allowed: false, status: { reason: 'Forbidden', code: 403 } },
      403,
      'admission webhook "c.d.test" denied the request: Forbidden',
      'Forbidden',
    ],
    [
      { allowed: false, status: { message: 'no', code: 9999 } },
      400,
      'admission webhook "c.d.test" denied the request: no',
      undefined,
    ],
  ];
  for (const [answer, status, message, reason] of cases) {
    second.answer = answer;
    t.match(await cluster.send('POST', maps, map('two')), {
      status,
      body: { kind: 'Status', code: status, message, reason },
    });
  }
  t.equal((await cluster.send('GET', `${maps}/two`)).status, 404);
  t.match(await cluster.metrics('apiserver_admission_webhook_rejection_count{error_type="no_error",name="c.d.test"'), [
    /operation="CREATE",rejection_code="400",type="validating"\} 3$/,
    /rejection_code="403",type="validating"\} 1$/,
  ]);
});

const lies: [name: string, answer: Hook['answer'], why: RegExp][] = [
  [
    'another uid',
    { uid: 'other' },
    /received invalid webhook response: expected response\.uid="[0-9a-f-]{36}", got "other"/,
  ],
  [
    'another kind',
    (_, response) => sendJson(response, { apiVersion: 'v1', kind: 'Pod' }),
    /expected webhook response of admission\.k8s\.io\/v1, Kind=AdmissionReview, got v1, Kind=Pod/,
  ],
  [
    'no response',
    ({ apiVersion, kind }, response) => sendJson(response, { apiVersion, kind }),
    /webhook response was absent/,
  ],
  ['a list', (_, response) => sendJson(response, []), /the answer is not a JSON object/],
  ['no JSON', (_, response) => response.end('<html>'), /the answer cannot be read/],
  [
    'a failure',
    (_, response) => sendJson(response, {}, 503),
    /failed to call webhook: the server is currently unable to handle the request/,
  ],
  [
    'a broken connection',
    (_, response) => response.destroy(),
    /failed to call webhook: Post "https:\/\/127\.0\.0\.1:\d+\/check\?timeout=5s": EOF/,
  ],
  [
    'a huge answer',
    (_, response) => response.end(' '.repeat(9 * 1024 * 1024)),
    /the answer is longer than 8388608 bytes/,
  ],
  [
    'a patch without its type',
    { allowed: true, patch: 'W10=' },
    /webhook returned response\.patch but not response\.patchType/,
  ],
  [
    'another type of patch',
    { allowed: true, patch: 'W10=', patchType: 'X' },
    /webhook returned invalid response\.patchType of "X"/,
  ],
  [
    'a patch that is no JSON',
    { allowed: true, patch: 'eA==', patchType: 'JSONPatch' },
    /received undecodable patch in webhook response/,
  ],
];

t.test('invalid answers fail the request, or are ignored', async (t) => {
  const cluster = await setUp(t);
  const [strict, lax] = [await startHook(t), await startHook(t)];
  const only = (path: string) => ({ objectSelector: { matchLabels: { path } }, timeoutSeconds: 5 });
  await cluster.configure('Mutating', 'both', [
    webhook(strict, only('strict')),
    webhook(lax, { ...only('lax'), failurePolicy: 'Ignore' }, 'lax.b.test'),
  ]);
  const labelled = (path: string) => map('one', { metadata: { name: 'one', labels: { path } } });
  for (const [name, answer, why] of lies) {
    strict.answer = answer;
    const failed = await cluster.send('POST', maps, labelled('strict'));
    t.match(failed, { status: 500, body: { reason: 'InternalError', message: why } }, name);
    t.match(failed.body.message, /^Internal error occurred: failed calling webhook "a\.b\.test": /, name);
    lax.answer = answer;
    const ignored = await cluster.send('POST', `${maps}?dryRun=All`, labelled('lax'));
    t.equal(ignored.status, 201, name);
    t.match(
      ignored.warnings,
      [/^admission webhook "lax\.b\.test" was ignored: failed calling webhook "lax\.b\.test": /],
      name,
    );
  }
  t.match(await cluster.metrics('apiserver_admission_webhook_fail_open_count{'), [
    `apiserver_admission_webhook_fail_open_count{name="lax.b.test",type="admit"} ${lies.length}`,
  ]);
});

const misfits: [name: string, operations: object[], status: number, message: RegExp][] = [
  [
    'a test that fails',
    [{ op: 'test', path: '/data', value: 1 }],
    500,
    /Internal error occurred: testing value \/data failed/,
  ],
  ['a place that is not there', [add('/a/b/c', 1)], 500, /Internal error occurred: .*missing path/],
  ['another kind', [add('/kind', 'Secret')], 500, /Internal error occurred: /],
  ['wrong types', [add('/data', [1])], 500, /Internal error occurred: /],
  [
    'another namespace',
    [add('/metadata/namespace', 'default')],
    400,
    /the namespace of the provided object does not match/,
  ],
];

t.test('patches that do not apply are refused', async (t) => {
  const cluster = await setUp(t);
  const hook = await startHook(t);
  await cluster.configure('Mutating', 'first', [webhook(hook)]);
  for (const [name, operations, status, message] of misfits) {
    hook.answer = patch(...operations);
    t.match(await cluster.send('POST', maps, map('one')), { status, body: { message } }, name);
  }
  hook.answer = patch(
    add('/metadata/uid', 'mine'),
    add('/metadata/resourceVersion', '1'),
    add('/metadata/creationTimestamp', null),
  );
  const created = await cluster.send('POST', maps, map('one'));
  t.equal(created.status, 201);
  t.match(created.body.metadata.uid, /^[0-9a-f-]{36}$/, 'system fields are unchanged');
  hook.answer = patch(add('/metadata/name', 'other'));
  const renamed = await cluster.send('PATCH', `${maps}/one`, { data: { a: 'b' } }, 'application/merge-patch+json');
  t.match(renamed, { status: 422, body: { message: /metadata\.name: Invalid value: "other": field is immutable/ } });
});

t.test('a webhook that hangs delays only its own requests', async (t) => {
  const cluster = await setUp(t, kubernetesDialect, ['--max-mutating-requests-inflight=4']);
  const hook = await startHook(t);
  hook.answer = () => undefined;
  await cluster.configure('Validating', 'hanging', [webhook(hook, { timeoutSeconds: 30 })]);
  const held = [cluster.send('POST', maps, map('one')), cluster.send('POST', maps, map('two'))];
  while (hook.requests.length < 2) await clock.sleep(5);
  // Half of the slots are in use, which is the limit: further calls fail at once.
  t.match(await cluster.send('POST', maps, map('three')), { status: 429, body: { message: /2 calls of the webhook/ } });
  t.equal((await cluster.send('POST', '/api/v1/namespaces/default/configmaps', map('one'))).status, 201);
  t.equal((await cluster.send('GET', maps)).status, 200);
  hook.server.cut();
  for (const reply of await Promise.all(held)) t.match(reply, { status: 500, body: { message: /: EOF$/ } });
  await cluster.remove('Validating', 'hanging');
  await cluster.configure('Validating', 'short', [webhook(hook, { timeoutSeconds: 1 })]);
  const late = await cluster.send('POST', maps, map('one'));
  t.match(late, { status: 500, body: { message: /context deadline exceeded$/ } });
  t.match(late.warnings, [/^admission webhook "a\.b\.test" took 1\.\d seconds$/]);
  const sumOf = async (name: string) => {
    const lines = (await cluster.metrics(`${name}_sum`)).filter((line) => /"POST".*"configmaps"/.test(line));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  const all = await sumOf('apiserver_request_duration_seconds');
  const own = await sumOf('apiserver_request_slo_duration_seconds');
  t.ok(all - own >= 1, `what the webhook took is not the server's: ${own} of ${all} seconds`);
});

t.test('webhooks are called for matching requests', async (t) => {
  const cluster = await setUp(t);
  const { send } = cluster;
  const hook = await startHook(t);
  const everything = { rules: [rule(['*/*'])], namespaceSelector: {} };
  await cluster.configure('Validating', 'all', [webhook(hook, everything)]);
  const seen = async (work: Promise<unknown>) => {
    hook.requests.length = 0;
    await work;
    return hook.requests.map(({ operation, resource, subResource = '', name, namespace = '', kind }) =>
      [operation, resource.resource, subResource, namespace, name, kind.kind].join(' '),
    );
  };
  const container = { name: 'c', image: 'i' };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [container] } };
  const pods = '/api/v1/namespaces/shop/pods';
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [container] } };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec: { selector: { matchLabels: { a: 'b' } }, template, replicas: 1 },
  };
  const deployments = '/apis/apps/v1/namespaces/shop/deployments';
  const merge = 'application/merge-patch+json';
  t.same(await seen(send('POST', pods, pod)), ['CREATE pods  shop p Pod']);
  t.same(await seen(send('GET', `${pods}/p`)), []);
  t.same(await seen(send('PATCH', `${pods}/p/status`, { status: { phase: 'Running' } }, merge)), [
    'UPDATE pods status shop p Pod',
  ]);
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } };
  t.same(
    await seen(send('POST', `${pods}/p/binding`, binding)).then((all) => all[0]),
    'CREATE pods binding shop p Binding',
  );
  t.same(await seen(send('POST', `${pods}/p/exec?command=sh&stdin=true`)), ['CONNECT pods exec shop p PodExecOptions']);
  t.match(hook.requests[0], {
    object: { kind: 'PodExecOptions', stdin: true, command: ['sh'] },
    oldObject: null,
    options: null,
  });
  t.same(await seen(send('GET', `${pods}/p/log`)), []);
  t.same(await seen(send('GET', `${pods}/p/proxy/x/y`)), ['CONNECT pods proxy shop p PodProxyOptions']);
  t.equal(hook.requests[0].object.path, '/x/y');
  await send('POST', deployments, deployment);
  t.same(await seen(send('PATCH', `${deployments}/d/scale`, { spec: { replicas: 3 } }, merge)), [
    'UPDATE deployments scale shop d Scale',
  ]);
  t.match(hook.requests[0], {
    object: { kind: 'Scale', spec: { replicas: 3 } },
    oldObject: { kind: 'Scale', spec: { replicas: 1 } },
  });
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
  t.same(await seen(send('POST', `${pods}/p/eviction`, eviction)), [
    'CREATE pods eviction shop p Eviction',
    'DELETE pods  shop p Pod',
  ]);
  t.same(await seen(send('POST', maps, map('a'))), ['CREATE configmaps  shop a ConfigMap']);
  t.same((await seen(send('DELETE', maps))).sort(), ['DELETE configmaps  shop a ConfigMap']);
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'x' } };
  t.same(await seen(send('POST', '/apis/authentication.k8s.io/v1/tokenreviews', review)), [
    'CREATE tokenreviews    TokenReview',
  ]);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } };
  t.same(await seen(send('POST', '/api/v1/namespaces', namespace)), ['CREATE namespaces  other other Namespace']);
  hook.answer = { allowed: false };
  t.same(await seen(cluster.configure('Mutating', 'more', [])), [], 'webhooks are not called for configurations');
});

t.test('equivalent versions, reviews of v1beta1 and dry runs', async (t) => {
  const cluster = await setUp(t);
  const hook = await startHook(t);
  const scaler = {
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 's' },
    spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 3, targetCPUUtilizationPercentage: 50 },
  };
  const path = '/apis/autoscaling/v1/namespaces/shop/horizontalpodautoscalers';
  const inV2 = { rules: [rule(['horizontalpodautoscalers'], ['*'], ['autoscaling'], ['v2'])] };
  await cluster.configure('Mutating', 'exact', [webhook(hook, { ...inV2, matchPolicy: 'Exact' })]);
  await cluster.send('POST', `${path}?dryRun=All`, scaler);
  t.equal(hook.requests.length, 0);
  await cluster.remove('Mutating', 'exact');
  hook.answer = patch(add('/spec/metrics/0/resource/target/averageUtilization', 70));
  await cluster.configure('Mutating', 'equivalent', [webhook(hook, { ...inV2, admissionReviewVersions: ['v1beta1'] })]);
  const created = await cluster.send('POST', path, scaler);
  t.match(created, {
    status: 201,
    body: { apiVersion: 'autoscaling/v1', spec: { targetCPUUtilizationPercentage: 70 } },
  });
  t.match(hook.requests[0], {
    kind: { group: 'autoscaling', version: 'v2' },
    resource: { version: 'v2' },
    requestKind: { version: 'v1' },
    requestResource: { version: 'v1' },
    object: { apiVersion: 'autoscaling/v2', spec: { metrics: [{ type: 'Resource' }] } },
  });
});

t.test('webhooks are called again after later changes', async (t) => {
  const cluster = await setUp(t);
  const order: string[] = [];
  const hooks = await Promise.all(
    ['early', 'late'].map(async (name) => {
      const hook = await startHook(t);
      hook.answer = (review, response) => {
        const { data = {} } = review.request.object;
        order.push(`${name}:${Object.keys(data).sort().join('+')}`);
        const change = name in data ? { allowed: true } : patch(add('/data', { ...data, [name]: '1' }));
        respond(response, review, change);
      };
      return hook;
    }),
  );
  const [early, late] = hooks as [Hook, Hook];
  await cluster.configure('Mutating', 'b-late', [webhook(late, {}, 'late.b.test')]);
  await cluster.configure('Mutating', 'a-early', [webhook(early, { reinvocationPolicy: 'IfNeeded' }, 'early.b.test')]);
  const created = await cluster.send('POST', maps, map('one'));
  t.same(created.body.data, { early: '1', late: '1' });
  t.same(
    order,
    ['early:', 'late:early', 'early:early+late'],
    'in the order of names; again if reinvocation is configured',
  );
});

t.test('webhooks are called with the configured credentials', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'credentials-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = async (name: string, value: object) => {
    await writeFile(join(folder, name), JSON.stringify(value));
    return join(folder, name);
  };
  const users = [{ name: '127.0.0.*', user: { token: 'no' } }];
  const kubeConfigFile = await file('users', {
    users: [...users, { name: '*', user: { token: 'secret' } }],
  });
  const apiVersion = kubernetesDialect.apiServerConfigVersion;
  const configuration = { apiVersion, kind: 'WebhookAdmissionConfiguration', kubeConfigFile };
  const plugins = [{ name: 'ValidatingAdmissionWebhook', configuration }];
  const path = await file('admission', { apiVersion, kind: 'AdmissionConfiguration', plugins });
  const cluster = await setUp(t, kubernetesDialect, [`--admission-control-config-file=${path}`]);
  const seen: (string | undefined)[] = [];
  const server = await startWebhook(t, (text, response, request) => {
    seen.push(request.headers.authorization);
    respond(response, JSON.parse(text), { allowed: true });
  });
  const hook: Hook = { server, requests: [], answer: {} };
  await cluster.configure('Mutating', 'anonymous', [webhook(hook)]);
  await cluster.configure('Validating', 'authenticated', [webhook(hook)]);
  t.equal((await cluster.send('POST', maps, map('one'))).status, 201);
  t.same(seen, [undefined, 'Bearer secret']);
});
