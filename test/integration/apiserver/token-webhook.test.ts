/** Bearer tokens that only a webhook knows: requests, token reviews, and what a failing webhook does. */
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

const users: Readonly<Record<string, object>> = {
  jane: { authenticated: true, user: { username: 'jane', uid: 'u1', groups: ['dev'], extra: { team: ['a'] } } },
  elsewhere: { authenticated: true, user: { username: 'eve' }, audiences: ['elsewhere'] },
  revoked: { authenticated: false, error: 'the token is revoked' },
};

async function setUp(t: Test, dialect: Dialect, version: string) {
  const folder = await mkdtemp(join(tmpdir(), 'token-webhook-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const reviews: Any[] = [];
  const hook = await startWebhook(t, (body, response) => {
    const review = JSON.parse(body);
    reviews.push(review);
    if (review.spec.token === 'fails') return sendJson(response, { kind: 'Status', message: 'no database' }, 503);
    sendJson(response, { ...review, spec: {}, status: users[review.spec.token] ?? {} });
  });
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const cluster = {
    server: `https://127.0.0.1:${hook.port}/authenticate`,
    'certificate-authority-data': hook.caBundle,
  };
  const kubeconfig = {
    clusters: [{ name: 'c', cluster }],
    contexts: [{ name: 'c', context: { cluster: 'c' } }],
    'current-context': 'c',
  };
  const keys = await generateRsaKey();
  const api = await startCompleteServer(t, {
    dialect,
    argv: [
      '--authorization-mode=AlwaysAllow',
      '--secure-port=0',
      '--service-account-issuer=https://test',
      `--service-account-signing-key-file=${await file('sa.key', privateKeyToPem(keys.privateKey))}`,
      `--service-account-key-file=${await file('sa.pub', publicKeyToPem(keys.publicKey))}`,
      '--service-cluster-ip-range=10.96.0.0/24',
      `--token-auth-file=${await file('tokens', 'local,joe,u2\n')}`,
      `--authentication-token-webhook-config-file=${await file('config', JSON.stringify(kubeconfig))}`,
      `--authentication-token-webhook-version=${version}`,
    ],
  });
  const transport = new InProcessTransport({ handler: api.handler });
  const send = async (token: string, method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) };
    const response = await transport.request({ method, path, headers, ...sent });
    const text = (await readAll(response.body)).toString();
    return { status: response.status, body: JSON.parse(text) as Any };
  };
  const apiVersion = dialect.apiVersion('authentication', 'v1');
  const review = async (token: string, audiences?: string[]) => {
    const object = { apiVersion, kind: 'TokenReview', spec: { token, audiences } };
    return (await send('local', 'POST', `/apis/${apiVersion}/tokenreviews`, object)).body.status;
  };
  return { send, review, reviews };
}

for (const [dialect, version] of [
  [kubernetesDialect, 'v1'],
  [orchDialect, 'v1beta1'],
] as const) {
  t.test(`tokens of a webhook: ${dialect.name}, ${version}`, async (t) => {
    const { send, review, reviews } = await setUp(t, dialect, version);
    t.equal((await send('jane', 'GET', '/api/v1/namespaces/default/configmaps')).status, 200, 'a token of the webhook');
    t.same(
      [reviews[0].apiVersion, reviews[0].spec],
      [dialect.apiVersion('authentication', version), { token: 'jane', audiences: ['https://test'] }],
      'the review of a request is for the audience of the server',
    );
    const before = reviews.length;
    t.equal((await send('local', 'GET', '/api')).status, 200, 'a token of the file');
    t.equal(reviews.length, before, 'the webhook gets only tokens that nothing else knows');
    for (const token of ['nobody', 'revoked', 'elsewhere', 'fails']) {
      const { status, body } = await send(token, 'GET', '/api');
      t.match({ status, body }, { status: 401, body: { message: 'Unauthorized', reason: 'Unauthorized' } }, token);
    }
    const groups = ['dev', dialect.groups.authenticated];
    t.same(await review('jane'), {
      authenticated: true,
      user: { username: 'jane', uid: 'u1', groups, extra: { team: ['a'] } },
      audiences: ['https://test'],
    });
    t.match(await review('elsewhere', ['elsewhere', 'more']), { authenticated: true, audiences: ['elsewhere'] });
    const refusals: readonly (readonly [token: string, error: string])[] = [
      ['nobody', 'invalid bearer token'],
      ['elsewhere', 'invalid bearer token'],
      ['revoked', '[invalid bearer token, the token is revoked]'],
      ['fails', '[invalid bearer token, no database]'],
    ];
    for (const [token, error] of refusals) {
      t.match(await review(token), { authenticated: undefined, error }, `review of ${token}`);
    }
  });
}

t.test('an unknown version of reviews ends the start', async (t) => {
  await t.rejects(setUp(t, kubernetesDialect, 'v2'), {
    message: /unsupported authentication webhook version "v2", supported versions are "v1", "v1beta1"/,
  });
});
