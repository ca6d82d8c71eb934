/** The authorization modes Webhook and ABAC in a whole server: requests, access reviews and rules reviews. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { sendJson, startWebhook } from '#apiserver/webhooks/testing/webhook-server.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { readAll } from '#client/rest/response.js';
import { generateRsaKey, privateKeyToPem, publicKeyToPem } from '#pki/keys.js';
import { startCompleteServer } from '#test/integration/apiserver/complete-server.js';

// biome-ignore lint/suspicious/noExplicitAny: answers of the server
type Any = any;

async function setUp(t: Test, dialect: Dialect, args: (file: (text: string) => Promise<string>) => Promise<string[]>) {
  const folder = await mkdtemp(join(tmpdir(), 'authorizers-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  let files = 0;
  const file = async (text: string) => {
    files += 1;
    const path = join(folder, `${files}`);
    await writeFile(path, text);
    return path;
  };
  const keys = await generateRsaKey();
  const api = await startCompleteServer(t, {
    dialect,
    argv: [
      '--secure-port=0',
      '--service-account-issuer=https://test',
      `--service-account-signing-key-file=${await file(privateKeyToPem(keys.privateKey))}`,
      `--service-account-key-file=${await file(publicKeyToPem(keys.publicKey))}`,
      '--service-cluster-ip-range=10.96.0.0/24',
      ...(await args(file)),
    ],
  });
  const version = dialect.apiVersion('authorization', 'v1');
  const as = (name: string, ...groups: string[]) => {
    const user = { name, groups: [...groups, dialect.groups.authenticated] };
    const transport = new InProcessTransport({ handler: api.handler, user });
    const send = async (method: string, path: string, body?: object) => {
      const sent = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) };
      const headers = { 'content-type': 'application/json' };
      const response = await transport.request({ method, path, headers, ...sent });
      const text = (await readAll(response.body)).toString();
      const isJson = response.headers['content-type']?.startsWith('application/json') === true;
      return { status: response.status, body: isJson ? (JSON.parse(text) as Any) : text };
    };
    const post = (kind: string, spec: object) =>
      send('POST', `/apis/${version}/${kind.toLowerCase()}s`, { kind, apiVersion: version, spec });
    return {
      send,
      canI: async (verb: string, resource: string) => {
        const resourceAttributes = { verb, resource, namespace: 'default' };
        return (await post('SelfSubjectAccessReview', { resourceAttributes })).body.status as Any;
      },
      rules: async () => (await post('SelfSubjectRulesReview', { namespace: 'default' })).body.status as Any,
    };
  };
  return { as, version };
}

const pods = '/api/v1/namespaces/default/pods';

/** The webhook decides by the user's name; every user may create reviews. */
function verdictOf(spec: Any): object | undefined {
  if (spec.resourceAttributes?.resource?.startsWith('selfsubject') === true) return { allowed: true };
  switch (spec.user) {
    case 'allowed':
      return { allowed: true, reason: 'on the list' };
    case 'denied':
      return { allowed: false, denied: true, reason: 'on the other list' };
    case 'fails':
      return undefined;
    default:
      return { allowed: false, reason: 'on no list' };
  }
}

for (const [dialect, version] of [
  [kubernetesDialect, 'v1beta1'],
  [orchDialect, 'v1'],
] as const) {
  t.test(`a webhook before RBAC: ${dialect.name}, ${version}`, async (t) => {
    const reviews: Any[] = [];
    const hook = await startWebhook(t, (body, response) => {
      const review = JSON.parse(body);
      reviews.push(review);
      const status = verdictOf(review.spec);
      if (status === undefined) return sendJson(response, {}, 503);
      sendJson(response, { ...review, status });
    });
    const cluster = { server: `https://127.0.0.1:${hook.port}/authorize`, 'certificate-authority-data': hook.caBundle };
    const kubeconfig = {
      clusters: [{ name: 'c', cluster }],
      contexts: [{ name: 'c', context: { cluster: 'c' } }],
      'current-context': 'c',
    };
    const { as } = await setUp(t, dialect, async (file) => [
      '--authorization-mode=Webhook,RBAC',
      `--authorization-webhook-config-file=${await file(JSON.stringify(kubeconfig))}`,
      `--authorization-webhook-version=${version}`,
    ]);
    t.equal((await as('allowed').send('GET', pods)).status, 200, 'allowed by the webhook');
    t.match(reviews[0], { apiVersion: dialect.apiVersion('authorization', version), spec: { user: 'allowed' } });
    const count = reviews.length;
    t.equal((await as('allowed').send('GET', pods)).status, 200, 'allowed by the cache');
    t.equal(reviews.length, count);
    t.equal((await as('root', dialect.groups.masters).send('GET', pods)).status, 200, 'privileged users need nothing');
    t.equal(reviews.length, count, 'the webhook does not learn of them');
    const denied =
      'pods is forbidden: User "denied" cannot list resource "pods" in API group "" in the namespace "default": on the other list';
    t.match(await as('denied').send('GET', pods), { status: 403, body: { message: denied } });
    const silent =
      'pods is forbidden: User "other" cannot list resource "pods" in API group "" in the namespace "default": on no list';
    t.match(await as('other').send('GET', pods), { status: 403, body: { message: silent } });
    const unavailable = 'the server is currently unable to handle the request';
    t.same(await as('fails').send('GET', pods), {
      status: 500,
      body: `Internal Server Error: "${pods}": ${unavailable}\n`,
    });
    t.equal((await as('fails').send('GET', '/version')).status, 200, 'RBAC allows what the webhook could not decide');
    t.same(await as('allowed').canI('get', 'pods'), { allowed: true, reason: 'on the list' });
    t.same(await as('denied').canI('get', 'pods'), { allowed: false, denied: true, reason: 'on the other list' });
    t.same(await as('fails').canI('get', 'pods'), { allowed: false, evaluationError: unavailable });
    const rules = await as('allowed').rules();
    t.match(rules, { incomplete: true, evaluationError: 'webhook authorizer does not support user rule resolution' });
    t.ok(rules.resourceRules.length > 0, 'the rules of RBAC are listed');
  });

  t.test(`policies of a file: ${dialect.name}`, async (t) => {
    const line = (spec: object) =>
      JSON.stringify({ apiVersion: `abac.authorization.${dialect.labelDomain}/v1beta1`, kind: 'Policy', spec });
    const reviews = {
      group: dialect.groups.authenticated,
      namespace: '*',
      apiGroup: dialect.groupName('authorization'),
    };
    const policies = [
      '# who may do what',
      line({ ...reviews, resource: '*' }),
      line({ user: 'alice', namespace: 'default', resource: 'pods', readonly: true }),
      line({ group: 'ops', nonResourcePath: '/version*' }),
    ];
    const { as } = await setUp(t, dialect, async (file) => [
      '--authorization-mode=ABAC',
      `--authorization-policy-file=${await file(policies.join('\n'))}`,
    ]);
    t.equal((await as('alice').send('GET', pods)).status, 200, 'a policy for a user');
    const message =
      'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default": No policy matched.';
    t.match(await as('bob').send('GET', pods), { status: 403, body: { message } });
    t.equal((await as('alice').send('POST', pods, {})).status, 403, 'the policy is for reading');
    t.equal((await as('bob', 'ops').send('GET', '/version')).status, 200, 'a policy for a group and a path');
    const path = 'forbidden: User "bob" cannot get path "/version": No policy matched.';
    t.match(await as('bob').send('GET', '/version'), { status: 403, body: { message: path } });
    t.same(await as('alice').canI('list', 'pods'), { allowed: true });
    t.same(await as('alice').canI('create', 'pods'), { allowed: false, reason: 'No policy matched.' });
    const { resourceRules, incomplete } = await as('alice').rules();
    t.same(
      { resourceRules, incomplete },
      {
        resourceRules: [
          { verbs: ['*'], apiGroups: [dialect.groupName('authorization')], resources: ['*'] },
          { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] },
        ],
        incomplete: false,
      },
    );
  });
}

t.test('a review explains a refusal to a client that asks for it', async (t) => {
  const dialect = orchDialect;
  const { as, version } = await setUp(t, dialect, async () => ['--authorization-mode=RBAC']);
  const [rbac, group] = [dialect.apiVersion('rbac', 'v1'), dialect.groupName('rbac')];
  const root = as('root', dialect.groups.masters);
  const create = async (path: string, object: object) => t.equal((await root.send('POST', path, object)).status, 201);
  const inNamespace = `/apis/${rbac}/namespaces/default`;
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
  await create(`${inNamespace}/roles`, { apiVersion: rbac, kind: 'Role', metadata: { name: 'reader' }, rules });
  const roleRef = { apiGroup: group, kind: 'Role', name: 'reader' };
  const subjects = [{ apiGroup: group, kind: 'User', name: 'alice' }];
  const metadata = { name: 'readers' };
  await create(`${inNamespace}/rolebindings`, { apiVersion: rbac, kind: 'RoleBinding', metadata, roleRef, subjects });
  const spec = { resourceAttributes: { namespace: 'default', verb: 'delete', resource: 'pods' } };
  const review = async (name: string, query: string, kind: string, more: object = {}) => {
    const path = `/apis/${version}/${kind.toLowerCase()}s${query}`;
    const client = name === 'root' ? root : as(name);
    const { status, body } = await client.send('POST', path, { apiVersion: version, kind, spec: { ...spec, ...more } });
    t.equal(status, 201, `${kind} of ${name}`);
    return body as Any;
  };
  const key = 'authorization.orch.io/explanation';
  const explained = JSON.parse(
    (await review('root', '?explain=true', 'SubjectAccessReview', { user: 'alice' })).metadata.annotations[key],
  );
  t.match(explained, {
    nearest: [{ name: 'readers', namespace: 'default', lacks: ['verbs'], text: 'its role allows get, not delete' }],
    grant: { role: { kind: 'Role', rules: [{ verbs: ['delete'], apiGroups: [''], resources: ['pods'] }] } },
  });
  const own = JSON.parse((await review('alice', '?explain=true', 'SelfSubjectAccessReview')).metadata.annotations[key]);
  t.same([own.nearest, own.allowsOthers], [[], []], 'who may not read bindings learns of none');
  t.equal(own.grant.role.kind, 'Role');
  const plain = await review('root', '', 'SubjectAccessReview', { user: 'alice' });
  t.equal(plain.metadata.annotations, undefined, 'other answers are those of 1.24');
});

t.test('files and versions that end the start', async (t) => {
  const start = (args: readonly string[], text: string, option: string) =>
    setUp(t, kubernetesDialect, async (file) => [...args, `--${option}=${await file(text)}`]);
  await t.rejects(start(['--authorization-mode=ABAC'], '\n{"user":1}', 'authorization-policy-file'), {
    message:
      /^invalid authorization config: error reading policy file .*, line 2: \{"user":1\}: json: cannot unmarshal/,
  });
  const config = JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    contexts: [{ name: 'c', context: { cluster: 'c' } }],
    'current-context': 'c',
  });
  const webhook = ['--authorization-mode=Webhook', '--authorization-webhook-version=v2'];
  await t.rejects(start(webhook, config, 'authorization-webhook-config-file'), {
    message: /unsupported webhook authorizer version "v2", supported versions are "v1", "v1beta1"/,
  });
});
