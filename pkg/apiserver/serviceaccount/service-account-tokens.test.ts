import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import t from 'tap';
import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { pods, secrets, serviceaccounts } from '#api/core/v1/resources.gen.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { ServiceAccountTokenAuthenticator } from '#apiserver/authentication/service-account-token.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import { issuerDiscovery } from '#apiserver/serviceaccount/discovery.js';
import { TokenIssuer } from '#apiserver/serviceaccount/token-issuer.js';
import { jwtKey, jwtSigningKey, readJwt, signJwt, verifyJwt } from '#pki/jwt.js';

const issuer = 'https://api.example';
const ec = (curve: string): KeyObject => generateKeyPairSync('ec', { namedCurve: curve }).privateKey;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

t.test('tokens of every key type are verified only by their own key', (t) => {
  for (const privateKey of [rsa, ec('P-256'), ec('P-384'), ec('P-521')]) {
    const key = jwtSigningKey(privateKey);
    const token = signJwt(key, { sub: 'x' });
    t.same(verifyJwt([key], token), { sub: 'x' }, key.algorithm);
    t.equal(verifyJwt([jwtSigningKey(ec('P-256'))], token), undefined);
    const [header, , signature] = token.split('.');
    const forged = Buffer.from('{"sub":"y"}').toString('base64url');
    t.equal(verifyJwt([key], `${header}.${forged}.${signature}`), undefined, 'changed claims');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    t.equal(verifyJwt([key], `${none}.${forged}.`), undefined, 'no signature');
  }
  for (const text of ['', 'a.b', 'a.b.c', '...', `${'x'.repeat(100)}`]) t.equal(readJwt(text), undefined);
  t.throws(() => jwtKey(generateKeyPairSync('ed25519').publicKey), RangeError);
  t.end();
});

function setup(dialect = orchDialect) {
  let now = Date.parse('2030-01-01T00:00:00Z');
  const clock: Clock = { ...realClock, now: () => now };
  const reader = new MemoryObjectReader();
  const account = { metadata: { name: 'web', namespace: 'prod', uid: 'sa-1' } };
  reader.put(serviceaccounts, account);
  const pod = {
    metadata: { name: 'web-0', namespace: 'prod', uid: 'pod-1' },
    spec: { serviceAccountName: 'web', containers: [] },
  };
  reader.put(pods, pod);
  reader.put(secrets, { metadata: { name: 'bound', namespace: 'prod', uid: 'secret-1' } });
  const key = jwtSigningKey(ec('P-256'));
  const options = { dialect, clock, reader, audiences: [issuer] };
  return {
    reader,
    account,
    pod,
    issuer: new TokenIssuer({ ...options, issuer, key, extendExpiration: true, maxExpirationSeconds: 100_000 }),
    authenticator: new ServiceAccountTokenAuthenticator({ ...options, keys: [key], issuers: [issuer], lookup: true }),
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const request = (spec: Partial<TokenRequest['spec']> = {}): TokenRequest => ({
  metadata: {},
  spec: { audiences: [], ...spec },
});
const tokenOf = (answer: TokenRequest) => answer.status?.token ?? '';
const failure = (reason: string) => ({ name: 'StatusError', status: { reason } });
const unauthorized = failure('Unauthorized');

t.test('a pod-bound token authenticates its user until the pod is deleted', async (t) => {
  const s = setup(kubernetesDialect);
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'web-0', uid: 'pod-1' };
  const answer = await s.issuer.request(s.account, request({ boundObjectRef, expirationSeconds: 3607 }));
  t.equal(answer.status?.expirationTimestamp, '2030-01-01T01:00:07Z');
  const claims = readJwt(tokenOf(answer))?.claims;
  t.match(claims, {
    aud: [issuer],
    iss: issuer,
    sub: 'system:serviceaccount:prod:web',
    'kubernetes.io': {
      namespace: 'prod',
      pod: { name: 'web-0', uid: 'pod-1' },
      serviceaccount: { name: 'web', uid: 'sa-1' },
      warnafter: 1893456000 + 3607,
    },
  });
  t.equal(claims?.['exp'], 1893456000 + 365 * 24 * 3600, 'extended');
  t.same(await s.authenticator.authenticateToken(tokenOf(answer)), {
    name: 'system:serviceaccount:prod:web',
    uid: 'sa-1',
    method: 'service-account-token',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:prod'],
    extra: {
      'authentication.kubernetes.io/pod-name': ['web-0'],
      'authentication.kubernetes.io/pod-uid': ['pod-1'],
    },
  });
  s.reader.put(pods, { ...s.pod, metadata: { ...s.pod.metadata, uid: 'pod-2' } });
  await t.rejects(s.authenticator.authenticateToken(tokenOf(answer)), unauthorized, 'another pod of that name');
  s.reader.remove(pods, 'prod', 'web-0');
  await t.rejects(s.authenticator.authenticateToken(tokenOf(answer)), unauthorized, 'no pod');
});

t.test('expiry, audience, issuer and account', async (t) => {
  const s = setup();
  const warnings: string[] = [];
  const long = await s.issuer.request(s.account, request({ expirationSeconds: 200_000 }), (text) =>
    warnings.push(text),
  );
  t.same(warnings, ['requested expiration of 200000 seconds shortened to 100000 seconds']);
  t.equal(long.spec.expirationSeconds, 100_000);
  const other = await s.issuer.request(s.account, request({ audiences: ['vault'] }));
  await t.rejects(s.authenticator.authenticateToken(tokenOf(other)), unauthorized, 'another audience');
  const token = tokenOf(await s.issuer.request(s.account, request()));
  t.ok(await s.authenticator.authenticateToken(token));
  t.equal(await s.authenticator.authenticateToken('no.token.here'), undefined);
  s.pass(3600_000 + 61_000);
  await t.rejects(s.authenticator.authenticateToken(token), unauthorized, 'expired');
  const fresh = tokenOf(await s.issuer.request(s.account, request()));
  const deleted = { ...s.account.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' };
  s.reader.put(serviceaccounts, { metadata: deleted });
  await t.rejects(s.authenticator.authenticateToken(fresh), unauthorized, 'deleted account');
});

t.test('invalid token requests are refused', async (t) => {
  const s = setup();
  const ask = (spec: Partial<TokenRequest['spec']>) => s.issuer.request(s.account, request(spec));
  const reference = (kind: string, name: string, uid = '') => ({
    boundObjectRef: { apiVersion: 'v1', kind, name, ...(uid === '' ? {} : { uid }) },
  });
  await t.rejects(ask({ expirationSeconds: 599 }), { message: /spec.expirationSeconds: .*less than 10 minutes/ });
  await t.rejects(ask(reference('Pod', 'gone')), failure('NotFound'));
  await t.rejects(ask(reference('Pod', 'web-0', 'pod-9')), failure('Conflict'));
  await t.rejects(ask(reference('Node', 'n')), failure('BadRequest'));
  s.reader.put(pods, { ...s.pod, spec: { ...s.pod.spec, serviceAccountName: 'db' } });
  await t.rejects(ask(reference('Pod', 'web-0')), { message: /running with different serviceaccount/ });
  t.ok(tokenOf(await ask(reference('Secret', 'bound', 'secret-1'))));
});

t.test('discovery documents', (t) => {
  const keys = [jwtSigningKey(rsa), jwtSigningKey(ec('P-256'))];
  const documents = issuerDiscovery({ issuer, keys });
  t.match(JSON.parse(documents?.configuration.toString() ?? ''), {
    issuer,
    jwks_uri: `${issuer}/openid/v1/jwks`,
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
  });
  const jwks = JSON.parse(documents?.jwks.toString() ?? '') as { keys: Record<string, string>[] };
  t.same(
    jwks.keys.map((key) => Object.keys(key).sort().join()),
    ['alg,e,kid,kty,n,use', 'alg,crv,kid,kty,use,x,y'],
  );
  t.equal(issuerDiscovery({ issuer: 'api', keys }), undefined);
  t.end();
});
