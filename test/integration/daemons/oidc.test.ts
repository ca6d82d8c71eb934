/** Users of an OpenID Connect issuer, from the options of the API server to its answers. */
import { writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import t from 'tap';
import type { TokenReview } from '#api/authentication/v1/types.gen.js';
import { configmaps } from '#api/core/v1/resources.gen.js';
import { clusterrolebindings } from '#api/rbac/v1/resources.gen.js';
import type { ClusterRoleBinding } from '#api/rbac/v1/types.gen.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { startApi } from '#test/integration/daemons/api.js';
import { type Claims, Issuer } from '#test/integration/daemons/oidc-issuer.js';

/** Pause after a failure before the issuer is asked again. */
const retryMs = 10_000;

t.test('tokens of an issuer are users, with their groups, while its keys can be had', async (t) => {
  const issuer = await new Issuer(realClock.now()).listen(t);
  const ca = join(t.testdir(), 'ca.crt');
  await writeFile(ca, issuer.ca);
  let laterMs = 0;
  const clock: Clock = { ...realClock, monotonic: () => realClock.monotonic() + laterMs };
  const args = [
    ...[`--oidc-issuer-url=${issuer.url}`, '--oidc-client-id=cluster', `--oidc-ca-file=${ca}`],
    ...['--oidc-username-claim=email', '--oidc-username-prefix=people:'],
    ...['--oidc-groups-claim=roles', '--oidc-groups-prefix=roles:', '--oidc-required-claim=hd=example.com'],
  ];
  const { client, port } = await startApi(t, { dialect, clock, args });
  const roleRef = { apiGroup: 'rbac.authorization.orch.io', kind: 'ClusterRole', name: 'system:aggregate-to-view' };
  await client.resource<ClusterRoleBinding>(clusterrolebindings).create({
    metadata: { name: 'readers' },
    roleRef,
    subjects: [{ apiGroup: roleRef.apiGroup, kind: 'Group', name: 'roles:reader' }],
  });

  const token = (claims: Claims = {}) => issuer.token({ email: 'jane@example.com', hd: 'example.com', ...claims });
  const ask = (bearer: string, path: string, body?: object) =>
    new Promise<{ code: number; answer: Record<string, unknown> }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
      const method = body === undefined ? 'GET' : 'POST';
      const options = { host: '127.0.0.1', port, path, method, headers, agent: false, rejectUnauthorized: false };
      const call = request(options, async (response) => {
        const text = (await response.setEncoding('utf8').toArray()).join('');
        resolve({ code: response.statusCode ?? 0, answer: JSON.parse(text) as Record<string, unknown> });
      });
      call.on('error', reject);
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const path = `/api/v1/namespaces/default/${configmaps.resource}`;
  const codeFor = async (claims: Claims) => (await ask(await token(claims), path)).code;

  issuer.down = true;
  t.equal(await codeFor({ roles: ['reader'] }), 401, 'its keys cannot be fetched');
  issuer.down = false;
  t.equal(await codeFor({ roles: ['reader'] }), 401, 'it is not asked again at once');
  laterMs += retryMs;
  t.equal(await codeFor({ roles: ['reader', 'other'] }), 200, 'the group may read');
  issuer.down = true;
  laterMs += retryMs;
  t.equal(await codeFor({ roles: 'reader' }), 200, 'its keys are known');

  const { code, answer } = await ask(await token({ roles: ['other'] }), path);
  t.equal(code, 403, 'of another group');
  t.match(answer['message'], /^configmaps is forbidden: User "people:jane@example.com" cannot list resource/);
  t.equal(await codeFor({ roles: ['reader'], aud: 'elsewhere' }), 401, 'meant for another client');
  t.equal(await codeFor({ roles: ['reader'], hd: 'other.example' }), 401, 'without what is required');

  const review = async (given: string) => {
    const spec = { token: given };
    const { answer } = await ask('root', '/apis/authentication.orch.io/v1/tokenreviews', { spec });
    return (answer as unknown as TokenReview).status;
  };
  t.match(await review(await token({ roles: ['reader', 'other'] })), {
    authenticated: true,
    user: {
      username: 'people:jane@example.com',
      groups: ['roles:reader', 'roles:other', dialect.groups.authenticated],
    },
  });
  t.not((await review(await token({ aud: 'elsewhere' })))?.authenticated, true);
});
