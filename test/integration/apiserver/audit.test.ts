/** The audit log: events of all sorts of requests at every level, written to a file and to a webhook. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { sendJson, startWebhook } from '#apiserver/webhooks/testing/webhook-server.js';
import { startWebhookCluster, type WebhookCluster } from '#test/integration/apiserver/webhooks/cluster.js';

// biome-ignore lint/suspicious/noExplicitAny: as the file has it
type Any = any;

async function folderFor(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'audit-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const policy = (domain: string, rules: object[], more: object = {}) =>
  JSON.stringify({ apiVersion: `audit.${domain}/v1`, kind: 'Policy', rules, ...more });

/** Events of requests by users, without the server's own. */
async function eventsIn(path: string): Promise<Any[]> {
  const text = await readFile(path, 'utf8');
  const events = text.split('\n').filter((line) => line !== '');
  return events.map((line) => JSON.parse(line)).filter(({ user }) => user.username === 'alice');
}

async function untilEvents(path: string, count: number): Promise<Any[]> {
  for (;;) {
    const events = await eventsIn(path);
    if (events.length >= count) return events;
    await clock.sleep(5);
  }
}

const maps = '/api/v1/namespaces/default/configmaps';
const map = (name: string, more: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...more });

for (const dialect of [kubernetesDialect, orchDialect]) {
  t.test(`what is recorded: ${dialect.name}`, async (t) => {
    const folder = await folderFor(t);
    const log = join(folder, 'logs', 'audit.log');
    const rules = [
      { level: 'None', resources: [{ group: '', resources: ['secrets'] }] },
      {
        level: 'RequestResponse',
        users: ['alice'],
        resources: [{ resources: ['configmaps'] }],
        omitManagedFields: true,
        omitStages: ['RequestReceived'],
      },
      { level: 'Metadata', nonResourceURLs: ['/version*'], omitStages: ['RequestReceived'] },
    ];
    await writeFile(join(folder, 'policy'), policy(dialect.apiDomain, rules));
    const cluster = await startWebhookCluster(t, dialect, [
      `--audit-policy-file=${join(folder, 'policy')}`,
      `--audit-log-path=${log}`,
    ]);
    const { send } = cluster;
    await send('POST', `${maps}?fieldManager=me`, map('one', { data: { a: 'b' } }));
    const [created] = await untilEvents(log, 1);
    t.match(created, {
      kind: 'Event',
      apiVersion: `audit.${dialect.apiDomain}/v1`,
      level: 'RequestResponse',
      auditID: /^[0-9a-f-]{36}$/,
      stage: 'ResponseComplete',
      requestURI: `${maps}?fieldManager=me`,
      verb: 'create',
      user: { username: 'alice', uid: 'u1', groups: [dialect.groups.masters], extra: { team: ['a'] } },
      userAgent: 'tester/1',
      objectRef: { resource: 'configmaps', namespace: 'default', name: 'one', apiVersion: 'v1' },
      responseStatus: { metadata: {}, code: 201 },
      requestObject: { kind: 'ConfigMap', data: { a: 'b' } },
      responseObject: { kind: 'ConfigMap', metadata: { name: 'one', uid: String }, data: { a: 'b' } },
      requestReceivedTimestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/,
      stageTimestamp: String,
      annotations: { [`${dialect.groupName('authorization')}/decision`]: 'allow' },
    });
    t.notOk(created.responseObject.metadata.managedFields, 'managers are left out');
    await send('PATCH', `${maps}/one`, { data: { c: 'd' } }, 'application/merge-patch+json');
    await send('GET', maps);
    await send('GET', `${maps}/none`);
    await send('DELETE', `${maps}/one`, { propagationPolicy: 'Background' });
    await send('POST', '/api/v1/namespaces/default/secrets', { ...map('s'), kind: 'Secret' });
    await send('GET', '/version');
    const [, patched, listed, missing, deleted, version, ...rest] = await untilEvents(log, 6);
    t.same(rest, []);
    t.match(patched, {
      verb: 'patch',
      requestObject: { data: { c: 'd' } },
      responseObject: { data: { a: 'b', c: 'd' } },
    });
    t.match(listed, { verb: 'list', responseObject: { kind: 'ConfigMapList', items: Array } });
    t.notOk(listed.responseObject.items.some(({ metadata }: Any) => metadata.managedFields));
    t.match(missing.responseStatus, { status: 'Failure', reason: 'NotFound', code: 404, message: / not found$/ });
    t.match(deleted, {
      verb: 'delete',
      requestObject: { propagationPolicy: 'Background' },
      responseStatus: { status: 'Success', code: 200, details: { kind: 'configmaps', name: 'one' } },
    });
    t.match(version, { level: 'Metadata', verb: 'get', requestURI: '/version', responseStatus: { code: 200 } });
    t.notOk('objectRef' in version);
    t.match(await cluster.metrics('apiserver_audit_event_total'), [/ [1-9]\d*$/]);
    t.match(await cluster.metrics('apiserver_audit_level_total{level="RequestResponse"'), [/ [1-9]\d*$/]);
  });
}

t.test('stages of watches, impersonation, and annotations of webhooks', async (t) => {
  const folder = await folderFor(t);
  const log = join(folder, 'audit.log');
  const rules = [{ level: 'Request', users: ['alice'], resources: [{ resources: ['configmaps'] }] }];
  await writeFile(join(folder, 'policy'), policy('k8s.io', rules));
  const cluster: WebhookCluster = await startWebhookCluster(t, kubernetesDialect, [
    `--audit-policy-file=${join(folder, 'policy')}`,
    `--audit-log-path=${log}`,
  ]);
  const stagesOf = (events: Any[]) => events.map(({ verb, stage }) => `${verb} ${stage}`);
  await cluster.events(`${maps}?watch=true&timeoutSeconds=1`);
  const watched = await untilEvents(log, 3);
  t.same(stagesOf(watched), ['watch RequestReceived', 'watch ResponseStarted', 'watch ResponseComplete']);
  t.equal(watched[0].requestReceivedTimestamp, watched[0].stageTimestamp);

  const hook = await startWebhook(t, (text, response) => {
    const { apiVersion, kind, request } = JSON.parse(text);
    const patch = Buffer.from('[{"op":"add","path":"/data","value":{"by":"hook"}}]').toString('base64');
    const changed = { allowed: true, patchType: 'JSONPatch', patch, auditAnnotations: { why: 'because' } };
    sendJson(response, { apiVersion, kind, response: { uid: request.uid, ...changed } });
  });
  const webhook = (name: string, more: object = {}) => ({
    name,
    clientConfig: { url: `https://127.0.0.1:${hook.port}/`, caBundle: hook.caBundle },
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    objectSelector: { matchLabels: { path: 'hooked' } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...more,
  });
  const away = { clientConfig: { url: 'https://127.0.0.1:1/' }, failurePolicy: 'Ignore' };
  await cluster.configure('Mutating', 'hooks', [webhook('a.b.test'), webhook('away.b.test', away)]);
  const created = await cluster.send('POST', `${maps}?fieldManager=me`, {
    ...map('two', { data: { mine: '1' } }),
    metadata: { name: 'two', labels: { path: 'hooked' } },
  });
  t.same(
    created.body.metadata.managedFields.map(({ manager, fieldsV1 }: Any) => [manager, fieldsV1['f:data']]),
    [['me', { '.': {}, 'f:mine': {} }]],
    'the writer manages the fields that he has written, not those that webhooks have made of it',
  );
  const done = (await eventsIn(log)).filter(
    ({ objectRef, stage }) => objectRef.name === 'two' && stage !== 'RequestReceived',
  );
  const { annotations } = done.at(-1);
  const at = (prefix: string, place: number) =>
    annotations[`${prefix}.webhook.admission.k8s.io/round_0_index_${place}`];
  const names = { configuration: 'hooks', webhook: 'a.b.test' };
  t.same(JSON.parse(at('mutation', 0)), { ...names, mutated: true });
  t.match(JSON.parse(at('patch', 0)), { ...names, patch: [{ op: 'add', path: '/data' }], patchType: 'JSONPatch' });
  t.match(JSON.parse(at('time.mutation', 0)), { ...names, outcome: 'allowed', milliseconds: Number });
  t.equal(at('failed-open.mutation', 1), 'away.b.test');
  t.equal(annotations['a.b.test/why'], 'because');
});

t.test('batches to a webhook, and rotation of a small log file', async (t) => {
  const folder = await folderFor(t);
  const lists: Any[] = [];
  let refuses = true;
  const server = await startWebhook(t, (text, response) => {
    response.writeHead(refuses ? 503 : 200).end();
    if (!refuses) lists.push(JSON.parse(text));
    refuses = false;
  });
  const kubeconfig = {
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `https://127.0.0.1:${server.port}/audit`,
          'certificate-authority-data': server.caBundle,
        },
      },
    ],
    contexts: [{ name: 'c', context: { cluster: 'c' } }],
    'current-context': 'c',
  };
  await writeFile(join(folder, 'config'), JSON.stringify(kubeconfig));
  const rules = [{ level: 'Request', users: ['alice'], verbs: ['create'] }];
  await writeFile(join(folder, 'policy'), policy('k8s.io', rules, { omitStages: ['RequestReceived'] }));
  const log = join(folder, 'audit.log');
  const cluster = await startWebhookCluster(t, kubernetesDialect, [
    `--audit-policy-file=${join(folder, 'policy')}`,
    `--audit-log-path=${log}`,
    '--audit-log-mode=blocking-strict',
    '--audit-log-maxsize=1',
    `--audit-webhook-config-file=${join(folder, 'config')}`,
    '--audit-webhook-batch-max-wait=10ms',
    '--audit-webhook-batch-max-size=2',
    '--audit-webhook-initial-backoff=1ms',
    '--audit-webhook-truncate-enabled=true',
    '--audit-webhook-truncate-max-event-size=10000',
  ]);
  const filler = 'x'.repeat(400_000);
  for (let i = 0; i < 4; i++) await cluster.send('POST', maps, map(`m${i}`, { data: { filler } }));
  const files = await readdir(folder);
  const aside = files.filter((name) => /^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$/.test(name));
  t.equal(aside.length, 1, 'two events of 400 kB fit into 1 MiB');
  t.equal((await eventsIn(log)).length, 2);
  const items = () => lists.flatMap((list) => list.items);
  while (items().length < 4) await clock.sleep(5);
  t.match(lists[0], { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {} });
  t.ok(lists.every((list) => list.items.length <= 2));
  for (const item of items()) {
    t.notOk('requestObject' in item);
    t.equal(item.annotations['audit.k8s.io/truncated'], 'true');
  }
});

t.test('in strict mode, a request that cannot be recorded is refused', async (t) => {
  const folder = await folderFor(t);
  await writeFile(join(folder, 'policy'), policy('k8s.io', [{ level: 'Metadata', users: ['alice'] }]));
  // A directory cannot be opened as a log file.
  const cluster = await startWebhookCluster(t, kubernetesDialect, [
    `--audit-policy-file=${join(folder, 'policy')}`,
    `--audit-log-path=${folder}`,
    '--audit-log-mode=blocking-strict',
  ]);
  t.match(await cluster.send('GET', maps), {
    status: 500,
    body: { message: 'Internal error occurred: failed to store audit event' },
  });
  t.match(await cluster.metrics('apiserver_audit_requests_rejected_total'), [/ 1$/]);
  t.match(await cluster.metrics('apiserver_audit_error_total{plugin="log"'), [/ [12]$/]);
});

const wrong: [name: string, rules: object[], message: RegExp][] = [
  ['no rules', [], /policy: loaded illegal policy with 0 rules$/],
  ['no level', [{}], /rules\[0\]\.level: Required value$/],
  ['another level', [{ level: 'All' }], /rules\[0\]\.level: Unsupported value: "All": supported values: "None", /],
  [
    'a stage',
    [{ level: 'None', omitStages: ['Never'] }],
    /omitStages\[0\]: Invalid value: "Never": allowed stages are /,
  ],
  ['a path', [{ level: 'None', nonResourceURLs: ['a*b'] }], /must begin with a '\/' character/],
  [
    'both',
    [{ level: 'None', nonResourceURLs: ['/a'], namespaces: ['b'] }],
    /rules cannot apply to both regular resources and non-resource URLs/,
  ],
  ['an unknown field', [{ level: 'None', levels: [] }], /unknown field "rules\[0\]\.levels"/],
];

t.test('invalid policies', async (t) => {
  const folder = await folderFor(t);
  const path = join(folder, 'policy');
  for (const [name, rules, message] of wrong) {
    await writeFile(path, policy('k8s.io', rules));
    const args = [`--audit-policy-file=${path}`, `--audit-log-path=${join(folder, 'log')}`];
    await t.rejects(startWebhookCluster(t, kubernetesDialect, args), { message }, name);
  }
});
