import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { listening } from '#client/testing/tls-server.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

const clock = new VirtualClock();

function idToken(name: string, lifeMs: number): string {
  const claims = { sub: name, exp: Math.floor((clock.now() + lifeMs) / 1000) };
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.sig`;
}

t.test('an expiring token is renewed once and written to its file', async (t) => {
  const requests: string[] = [];
  const provider = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    requests.push(
      `${request.method} ${request.url} ${request.headers.authorization ?? ''} ${Buffer.concat(chunks)}`.trim(),
    );
    const url = `http://${request.headers.host}`;
    if (request.method === 'GET') response.end(JSON.stringify({ token_endpoint: `${url}/token` }));
    else if (requests.length > 4) response.writeHead(400).end('{"error":"invalid_grant"}');
    else response.end(JSON.stringify({ id_token: idToken('two', 600_000), refresh_token: 'r2' }));
  });
  const port = await listening(t, provider);
  const folder = await mkdtemp(join(tmpdir(), 'oidc-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'config');
  const one = idToken('one', 60_000);
  await writeFile(
    file,
    `# mine
clusters: [{name: c, cluster: {server: "https://h"}}]
users:
- name: other
  user: {}
- name: me
  user:
    auth-provider:
      name: oidc
      config:
        idp-issuer-url: http://127.0.0.1:${port}/issuer/ # the provider
        client-id: it
        client-secret: s
        id-token: ${one}
        refresh-token: r1
contexts: [{name: x, context: {cluster: c, user: me}}]
current-context: x
`,
  );
  const { token } = await loadKubeconfig(file, { clock });
  t.equal(await token?.token(), one);
  t.same(requests, []);
  await clock.advance(51_000);
  const two = idToken('two', 600_000);
  t.same(await Promise.all([token?.token(), token?.token()]), [two, two]);
  t.same(requests, [
    'GET /issuer/.well-known/openid-configuration',
    'POST /token Basic aXQ6cw== grant_type=refresh_token&refresh_token=r1',
  ]);
  const written = await readFile(file, 'utf8');
  t.match(written, /^# mine/);
  t.match(written, '# the provider');
  t.match(written, `id-token: ${two}`);
  t.match(written, 'refresh-token: r2');
  t.equal(await (await loadKubeconfig(file, { clock })).token?.token(), two, 'another program reads it there');
  await clock.advance(600_000);
  await token?.token();
  await clock.advance(600_000);
  await t.rejects(async () => void (await token?.token()), {
    name: 'CredentialError',
    message: /failed to refresh.*400/,
  });
});

t.test('an expired token without a refresh token fails', async (t) => {
  const config = { 'idp-issuer-url': 'http://x', 'client-id': 'c' };
  const text = JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://h' } }],
    users: [{ name: 'u', user: { 'auth-provider': { name: 'oidc', config } } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
  const read = () => Promise.resolve(Buffer.from(text));
  const { token } = await loadKubeconfig('/c', { clock, readFile: read });
  await t.rejects(async () => void (await token?.token()), { message: /cannot refresh without refresh-token/ });
});
