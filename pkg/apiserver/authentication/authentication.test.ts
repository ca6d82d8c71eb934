import { X509Certificate } from 'node:crypto';
import { Registry } from 'prom-client';
import t from 'tap';
import { secrets } from '#api/core/v1/resources.gen.js';
import { children, type DerElement, element, readOne } from '#apimachinery/asn1/der.js';
import { encodePem } from '#apimachinery/asn1/pem.js';
import { type Clock, realClock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { BearerTokenAuthenticator } from '#apiserver/authentication/bearer-token.js';
import { BootstrapTokenAuthenticator } from '#apiserver/authentication/bootstrap-token.js';
import { CertificatePool, ClientCertificateAuthenticator } from '#apiserver/authentication/certificate-pool.js';
import { AuthenticationMetrics, tokenCacheMetrics } from '#apiserver/authentication/metrics.js';
import { RequestAuthenticator } from '#apiserver/authentication/request-authenticator.js';
import { RequestHeaderAuthenticator } from '#apiserver/authentication/request-header.js';
import { TokenFileAuthenticator } from '#apiserver/authentication/token-file.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import { metricsText } from '#daemon/metrics/registry.js';
import { createAuthority, issueCertificate, type KeyCertificate } from '#pki/certificate.js';

const request = (more: Partial<ApiRequest> = {}): ApiRequest => ({
  method: 'GET',
  url: '/',
  headers: {},
  body: Buffer.alloc(0),
  remoteAddress: '127.0.0.1',
  signal: new AbortController().signal,
  ...more,
});
const bearer = (token: string) => request({ headers: { authorization: `Bearer ${token}` } });
const der = (pair: KeyCertificate) => new X509Certificate(pair.certificate).raw;
const failure = (reason: string) => ({ name: 'StatusError', status: { reason } });
const unauthorized = failure('Unauthorized');

t.test('a token file authenticates its tokens', async (t) => {
  const file = new TokenFileAuthenticator(
    '# comment\nt0ken,alice,u1,"dev, ops"\n\nother,bob,u2\n"quo""ted",carol,,\r\n',
  );
  t.same(await file.authenticateToken('t0ken'), {
    name: 'alice',
    uid: 'u1',
    groups: ['dev', 'ops'],
    method: 'token-file',
  });
  t.same(await file.authenticateToken('other'), { name: 'bob', uid: 'u2', groups: [], method: 'token-file' });
  t.same(await file.authenticateToken('quo"ted'), { name: 'carol', groups: [], method: 'token-file' });
  t.equal(await file.authenticateToken('wrong'), undefined);
  t.throws(() => new TokenFileAuthenticator('ok,user\n,user2'), { message: /line 2 has no token/ });
});

t.test('bearer tokens: header, WebSocket subprotocol, wrong token, anonymous', async (t) => {
  const kinds = [new TokenFileAuthenticator('secret,alice,u1,"g"')];
  const registry = new Registry();
  const clock = realClock;
  const metrics = new AuthenticationMetrics(registry);
  const member = new BearerTokenAuthenticator({ dialect, clock, kinds, metrics: tokenCacheMetrics(registry) });
  const server = new RequestAuthenticator({ dialect, clock, members: [member], anonymous: true, metrics });
  const alice = { name: 'alice', uid: 'u1', groups: ['g', 'system:authenticated'], method: 'token-file' };
  t.same(await server.authenticate(bearer('secret')), alice);
  t.same(await server.authenticate(bearer('secret')), alice, 'from the cache');
  const protocol = `base64url.bearer.authorization.orch.io.${Buffer.from('secret').toString('base64url')}`;
  const headers = { upgrade: 'websocket', 'sec-websocket-protocol': `v4.channel.k8s.io, ${protocol}` };
  t.same(await server.authenticate(request({ headers })), alice);
  await t.rejects(
    async () => server.authenticate(bearer('wrong')),
    unauthorized,
    'wrong credentials are not anonymous',
  );
  t.same(await server.authenticate(request()), { name: 'system:anonymous', groups: ['system:unauthenticated'] });
  const strict = new RequestAuthenticator({ dialect, clock, members: [member], anonymous: false, metrics });
  await t.rejects(async () => strict.authenticate(request()), unauthorized);
  const user = { name: 'loop', groups: ['system:masters'] };
  t.same((await strict.authenticate(request({ user }))).groups, ['system:masters', 'system:authenticated']);
  const lines = (await metricsText(registry)).split('\n');
  for (const line of [
    'authenticated_user_requests{username="other"} 4',
    'authentication_attempts{result="success"} 4',
    'authentication_attempts{result="error"} 1',
    'authentication_attempts{result="failure"} 1',
    'authentication_duration_seconds_count{result="success"} 4',
    'authentication_token_cache_request_total{status="hit"} 2',
    'authentication_token_cache_request_total{status="miss"} 2',
    'authentication_token_cache_fetch_total{status="ok"} 2',
    'authentication_token_cache_active_fetch_count{status="in_flight"} 0',
    'authentication_token_cache_request_duration_seconds_count{status="miss"} 2',
  ]) {
    t.ok(lines.includes(line), line);
  }
});

t.test('a repeated token of one connection is not verified again', async (t) => {
  let nowMs = 0;
  let verifications = 0;
  const users: Record<string, UserInfo> = { a: { name: 'alice', groups: [] }, b: { name: 'bob', groups: [] } };
  const kind = {
    authenticateToken: async (token: string) => {
      verifications++;
      return users[token];
    },
  };
  const clock = { ...realClock, monotonic: () => nowMs };
  const metrics = tokenCacheMetrics(new Registry());
  const authenticator = new BearerTokenAuthenticator({ dialect, clock, kinds: [kind], cacheTtlMs: 100, metrics });
  const peer = {};
  const ask = async (token: string, of: object = peer) =>
    (await authenticator.authenticate({ ...bearer(token), peer: of }))?.name;
  t.same([await ask('a'), await ask('a'), await ask('b'), await ask('a')], ['alice', 'alice', 'bob', 'alice']);
  t.same([await ask('a', {}), verifications], ['alice', 2], 'cached from another connection');
  await t.rejects(ask('c'), unauthorized);
  nowMs = 99;
  t.same([await ask('a'), verifications], ['alice', 3]);
  nowMs = 100;
  delete users['a'];
  await t.rejects(ask('a'), unauthorized, 'verified again when it expires');
});

t.test('rotating authorities in two steps refuses no client', async (t) => {
  const now = Date.now();
  const [old, next] = [
    await createAuthority({ commonName: 'ca', now }),
    await createAuthority({ commonName: 'ca', now }),
  ];
  const issue = (by: KeyCertificate) =>
    issueCertificate(by, { subject: { commonName: 'alice', organizations: [] }, usages: ['client'], now });
  const pool = new CertificatePool({ bundle: old.certificate, clock: realClock });
  const [before, after] = [der(await issue(old)), der(await issue(next))];
  const verdicts = () => [before, after].map((certificate) => pool.verify(certificate).ok);
  t.same(verdicts(), [true, false]);
  pool.replace(old.certificate + next.certificate);
  t.same(verdicts(), [true, true]);
  t.throws(() => pool.replace('nothing'), RangeError);
  t.same(verdicts(), [true, true], 'the previous bundle stays');
  pool.replace(next.certificate);
  t.same(verdicts(), [false, true]);
});

t.test('client certificates', async (t) => {
  const now = Date.now();
  const ca = await createAuthority({ commonName: 'ca', now });
  const foreign = await createAuthority({ commonName: 'ca', now });
  const subject = { commonName: 'alice', organizations: ['dev', 'ops'] };
  const issue = (by: KeyCertificate, usages: ('client' | 'server')[], at = now) =>
    issueCertificate(by, { subject, usages, now: at });
  const authenticator = new ClientCertificateAuthenticator(
    new CertificatePool({ bundle: ca.certificate, clock: realClock }),
  );
  const ask = async (clientCertificate: Buffer) => authenticator.authenticate(request({ clientCertificate }));
  t.same(await ask(der(await issue(ca, ['client']))), {
    name: 'alice',
    groups: ['dev', 'ops'],
    method: 'client-certificate',
  });
  t.equal(await authenticator.authenticate(request()), undefined);
  const year = 366 * 24 * 3600_000;
  await t.rejects(ask(der(await issue(foreign, ['client']))), unauthorized, 'unknown authority with the same name');
  await t.rejects(ask(der(await issue(ca, ['server']))), unauthorized, 'a server certificate');
  await t.rejects(ask(der(await issue(ca, ['client'], now - year))), unauthorized, 'expired');
  await t.rejects(ask(der(await issue(ca, ['client'], now + year))), unauthorized, 'not valid yet');
  await t.rejects(ask(der(foreign)), unauthorized, 'an authority itself');
  await t.rejects(ask(Buffer.from('garbage')), unauthorized, 'garbage');
  t.throws(() => new CertificatePool({ bundle: '', clock: realClock }), RangeError);
});

t.test('a CA certificate of X.509 version 1 may sign client certificates', async (t) => {
  const now = Date.now();
  const ca = await createAuthority({ commonName: 'ca', now });
  const [content, ...signature] = children(readOne(der(ca)));
  const old = children(content).filter((part) => part.tag !== 0xa0 && part.tag !== 0xa3);
  const raw = ({ tag, contents }: DerElement) => element(tag, contents);
  const certificate = element(0x30, element(0x30, ...old.map(raw)), ...signature.map(raw));
  const pool = new CertificatePool({ bundle: encodePem('CERTIFICATE', certificate), clock: realClock });
  const subject = { commonName: 'alice', organizations: [] };
  const client = der(await issueCertificate(ca, { subject, usages: ['client'], now }));
  t.match(pool.verify(client), { ok: true, subject: { commonName: 'alice' } });
  const server = await issueCertificate(ca, { subject, usages: ['server'], now });
  const other = new CertificatePool({ bundle: server.certificate, clock: realClock });
  t.equal(other.verify(client).ok, false, 'a certificate of version 3 without CA rights may not sign');
});

t.test('a certificate becomes valid when a wrong clock is corrected', async (t) => {
  const created = Date.parse('2030-01-01T00:00:00Z');
  const ca = await createAuthority({ commonName: 'ca', now: created });
  const subject = { commonName: 'alice', organizations: [] };
  const certificate = der(await issueCertificate(ca, { subject, usages: ['client'], now: created }));
  const decade = 3653 * 24 * 3600_000;
  for (const [name, wrong] of [
    ['before the authority was made', created - decade],
    ['after it has expired', created + 10 * decade],
  ] as const) {
    let now = wrong;
    const pool = new CertificatePool({ bundle: ca.certificate, clock: { ...realClock, now: () => now } });
    t.same(pool.verify(certificate), { ok: false, reason: 'the certificate is signed by an unknown authority' }, name);
    now = created + 60_000;
    t.same(pool.verify(certificate), { ok: true, subject }, `${name}, and corrected later`);
    now = wrong;
    t.equal(pool.verify(certificate).ok, false, `${name} again`);
  }
});

t.test('a front proxy names the user in request headers', async (t) => {
  const now = Date.now();
  const ca = await createAuthority({ commonName: 'front', now });
  const proxy = der(
    await issueCertificate(ca, { subject: { commonName: 'proxy', organizations: [] }, usages: ['client'], now }),
  );
  const other = der(
    await issueCertificate(ca, { subject: { commonName: 'other', organizations: [] }, usages: ['client'], now }),
  );
  const authenticator = new RequestHeaderAuthenticator({
    pool: new CertificatePool({ bundle: ca.certificate, clock: realClock }),
    allowedNames: ['proxy'],
    usernameHeaders: ['X-Remote-User'],
    groupHeaders: ['X-Remote-Group'],
    extraHeaderPrefixes: ['X-Remote-Extra-'],
  });
  const headers = { 'x-remote-user': 'alice', 'x-remote-group': 'a, b', 'x-remote-extra-acme%2fscope': 'read' };
  t.same(await authenticator.authenticate(request({ clientCertificate: proxy, headers })), {
    name: 'alice',
    groups: ['a', 'b'],
    method: 'request-header',
    extra: { 'acme/scope': ['read'] },
  });
  const rawHeaders = ['X-Remote-User', 'alice', 'X-Remote-Group', 'a, system:masters', 'x-remote-group', 'b'];
  const joined = { ...headers, 'x-remote-group': 'a, system:masters, b' };
  t.match(
    await authenticator.authenticate(request({ clientCertificate: proxy, headers: joined, rawHeaders })),
    { groups: ['a, system:masters', 'b'] },
    'each line is one group, whatever it is called',
  );
  t.equal(await authenticator.authenticate(request({ clientCertificate: other, headers })), undefined);
  t.equal(await authenticator.authenticate(request({ headers })), undefined, 'headers alone prove nothing');
});

t.test('bootstrap tokens authenticate until they expire', async (t) => {
  const clock: Clock = { ...realClock, now: () => Date.parse('2030-01-01T00:00:00Z') };
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const reader = new MemoryObjectReader();
  const data = (more: Record<string, string>) => {
    const all: Record<string, string> = {
      'token-id': 'abcdef',
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-authentication': 'true',
      ...more,
    };
    return Object.fromEntries(Object.entries(all).map(([key, value]) => [key, base64(value)]));
  };
  const put = (more: Record<string, string>) =>
    reader.put(secrets, {
      metadata: { name: 'bootstrap-token-abcdef', namespace: 'orch-system' },
      type: dialect.secretTypes.bootstrapToken,
      data: data(more),
    });
  const authenticator = new BootstrapTokenAuthenticator({ dialect, clock, reader });
  const token = 'abcdef.0123456789abcdef';
  put({ 'auth-extra-groups': 'system:bootstrappers:nodes' });
  t.same(await authenticator.authenticateToken(token), {
    name: 'system:bootstrap:abcdef',
    groups: ['system:bootstrappers', 'system:bootstrappers:nodes'],
    method: 'bootstrap-token',
  });
  t.equal(await authenticator.authenticateToken('abcdef.0123456789abcdee'), undefined);
  for (const more of [
    { expiration: '2029-12-31T23:59:59Z' },
    { 'usage-bootstrap-authentication': 'false' },
    { 'auth-extra-groups': 'system:masters' },
  ]) {
    put(more);
    t.equal(await authenticator.authenticateToken(token), undefined, JSON.stringify(more));
  }
});
