import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:tls';
import t, { type Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { InspectorProfilerSource } from '#daemon/debugging/profiler.js';
import { silentLogger } from '#daemon/log/logger.js';
import { Verbosity } from '#daemon/log/verbosity.js';
import { createRegistry, metricsText } from '#daemon/metrics/registry.js';
import { type CreateDaemonServerOptions, createDaemonServer } from '#daemon/serving/create-daemon-server.js';
import { HealthChecks } from '#daemon/serving/health.js';
import { countedReviews } from '#daemon/serving/review-metrics.js';
import { FakeReviews, get, startServer, valuesOf } from '#daemon/serving/testing/server-fixture.js';
import { createAuthority, issueCertificate, type KeyCertificate } from '#pki/certificate.js';
import { generateRsaKey } from '#pki/keys.js';
import { createSelfSigned } from '#pki/self-signed.js';

async function setUp(t: Test, argv: string[] = [], options: Partial<CreateDaemonServerOptions> = {}) {
  const clock = new VirtualClock(realClock.now());
  return { clock, ...(await startServer(t, argv, { clock, ...options })) };
}

t.test('health needs no credentials, metrics do', async (t) => {
  const { port } = await setUp(t);
  t.same(await get(port, '/healthz'), { status: 200, body: 'ok' });
  t.match(await get(port, '/readyz?verbose'), { status: 200, body: /\[\+\]ping ok/ });
  const denied = await get(port, '/metrics');
  t.equal(denied.status, 403);
  t.match(JSON.parse(denied.body), {
    kind: 'Status',
    reason: 'Forbidden',
    message: 'forbidden: User "system:anonymous" cannot get path "/metrics": because',
  });
  t.match(await get(port, '/metrics', { headers: { authorization: 'Bearer good' } }), {
    status: 200,
    body: /orch_build_info/,
  });
  t.equal((await get(port, '/metrics', { headers: { authorization: 'Bearer bad' } })).status, 401);
  t.equal((await get(port, '/healthz', { headers: { authorization: 'Bearer bad' } })).status, 401);
});

t.test('reviews are counted by the status code of the API server', async (t) => {
  const clock = new VirtualClock();
  const metrics = createRegistry({ dialect: orchDialect });
  const reviews = new FakeReviews();
  const authn = countedReviews(reviews, 'authn', { clock, metrics });
  const authz = countedReviews(reviews, 'authz', { clock, metrics });
  await authn.request('POST', '/apis/tokenreviews', { spec: { token: 'good' } });
  reviews.down = true;
  await t.rejects(authz.request('POST', '/apis/subjectaccessreviews', {}));
  const unheard = { request: () => Promise.reject(new Error('no answer')) };
  await t.rejects(countedReviews(unheard, 'authz', { clock, metrics }).request('POST', '/'));
  const text = await metricsText(metrics);
  t.match(text, 'apiserver_delegated_authn_request_total{code="201"} 1');
  t.match(text, 'apiserver_delegated_authz_request_total{code="503"} 1');
  t.match(text, 'apiserver_delegated_authz_request_total{code="<error>"} 1');
  t.match(text, 'apiserver_delegated_authn_request_duration_seconds_bucket{le="0.7",code="201"} 1');
});

t.test('a scrape counts its own reviews', async (t) => {
  const { port } = await setUp(t);
  const { body } = await get(port, '/metrics', { headers: { authorization: 'Bearer good' } });
  t.match(body, 'apiserver_delegated_authn_request_total{code="201"} 1');
  t.match(body, 'apiserver_delegated_authz_request_total{code="201"} 1');
});

t.test('decisions are cached for their time', async (t) => {
  const { port, reviews, clock } = await setUp(t);
  const ask = () => get(port, '/metrics', { headers: { authorization: 'Bearer good' } });
  await Promise.all([ask(), ask()]);
  await ask();
  t.equal(reviews.count('tokenreviews'), 1);
  t.equal(reviews.count('subjectaccessreviews'), 1);
  reviews.down = true;
  t.equal((await ask()).status, 200, 'a cached decision works while the API server is down');
  await clock.advance(11_000);
  t.equal((await ask()).status, 401, 'a token that cannot be checked identifies no user');
  reviews.down = false;
  t.equal((await ask()).status, 200, 'failures are not cached');
});

t.test('client certificates and front proxies authenticate', async (t) => {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const proxyAuthority = await createAuthority({ commonName: 'proxy-ca', now });
  const issue = (by: KeyCertificate, commonName: string, organizations: string[] = []) =>
    issueCertificate(by, { subject: { commonName, organizations }, usages: ['client'], now });
  const directory = t.testdir({ 'ca.crt': authority.certificate, 'proxy.crt': proxyAuthority.certificate });
  const { port } = await setUp(t, [
    `--client-ca-file=${directory}/ca.crt`,
    `--requestheader-client-ca-file=${directory}/proxy.crt`,
    '--requestheader-allowed-names=front-proxy',
  ]);
  const headers = { 'x-remote-user': 'spoken-for', 'x-remote-group': 'a, b', 'x-remote-extra-k': 'v' };
  const odd = { 'x-remote-user': 'other', 'x-remote-group': `a,${orchDialect.groups.masters}` };
  const rows: [string, Parameters<typeof get>[2], number][] = [
    ['a user', { identity: await issue(authority, 'cert-user') }, 200],
    ['another user', { identity: await issue(authority, 'other') }, 403],
    ['a master', { identity: await issue(authority, 'admin', [orchDialect.groups.masters]) }, 200],
    ['a stranger', { identity: await issue(await createAuthority({ commonName: 'ca', now }), 'cert-user') }, 401],
    ['a front proxy', { identity: await issue(proxyAuthority, 'front-proxy'), headers }, 200],
    ['a group with a comma in its name', { identity: await issue(proxyAuthority, 'front-proxy'), headers: odd }, 403],
    ['a proxy that is not allowed', { identity: await issue(proxyAuthority, 'cert-user'), headers }, 401],
    ['a user with headers', { identity: await issue(authority, 'other'), headers }, 403],
    ['headers without a certificate', { headers }, 403],
  ];
  for (const [name, options, status] of rows) t.equal((await get(port, '/metrics', options)).status, status, name);
});

t.test('settings are looked up in the cluster', async (t) => {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const reviews = new FakeReviews();
  reviews.published = { 'client-ca-file': authority.certificate, 'requestheader-allowed-names': '["a"]' };
  const { port } = await setUp(t, [], { authenticationClient: reviews, authorizationClient: reviews });
  const identity = await issueCertificate(authority, {
    subject: { commonName: 'cert-user', organizations: [] },
    usages: ['client'],
    now,
  });
  t.equal((await get(port, '/metrics', { identity })).status, 200);
  reviews.down = true;
  await t.rejects(setUp(t, [], { authenticationClient: reviews }), /down/);
  const tolerant = await setUp(t, ['--authentication-tolerate-lookup-failure'], { authenticationClient: reviews });
  t.equal((await get(tolerant.port, '/healthz')).status, 200);
  const skipped = await setUp(t, ['--authentication-skip-lookup'], { authenticationClient: reviews });
  t.equal((await get(skipped.port, '/healthz')).status, 200);
});

t.test('without clients tokens are ignored, and only allowed paths are served', async (t) => {
  const { port } = await setUp(t, ['--authorization-always-allow-paths=/healthz,/brok*'], {
    authenticationClient: undefined,
    authorizationClient: undefined,
  });
  const headers = { authorization: 'Bearer good' };
  t.equal((await get(port, '/healthz', { headers })).status, 200);
  t.equal((await get(port, '/readyz', { headers })).status, 403);
  t.equal((await get(port, '/metrics', { headers })).status, 403);
  t.match(await get(port, '/broken'), { status: 500, body: /"reason":"InternalError"/ });
  t.match(await get(port, '/brok'), { status: 404, body: /"reason":"NotFound"/ });
});

t.test('the authorized path is the routed path', async (t) => {
  const { port } = await setUp(t);
  const headers = { authorization: 'Bearer good' };
  t.equal((await get(port, '/met%72ics', { headers })).status, 200);
  t.equal((await get(port, '/met%72ics')).status, 403);
  for (const path of [
    '//x/healthz',
    '/healthz/../metrics',
    '/healthz%2f..%2fmetrics',
    '/%zz',
    '/healthz?/../metrics',
    '/healthz/',
  ]) {
    const { status, body } = await get(port, path);
    t.ok(status !== 200 || body === 'ok', `${path} gives ${status}`);
  }
});

t.test('a right to subpaths is none to the path', async (t) => {
  const { port } = await setUp(t, ['--authorization-always-allow-paths=/metrics/*,/debug/pprof/*']);
  t.equal((await get(port, '/metrics/')).status, 404);
  t.equal((await get(port, '/metrics/x')).status, 404);
  t.equal((await get(port, '/metrics')).status, 403);
  t.match(await get(port, '/metrics/../healthz'), { status: 400, body: /"reason":"BadRequest"/ });
});

t.test('upgrades are authorized like requests', async (t) => {
  const { port } = await setUp(t, [], {
    upgrade: ({ socket, user }) => {
      socket.end(`HTTP/1.1 101 Switching Protocols\r\nx-user: ${user.name}\r\n\r\n`);
    },
  });
  const ask = async (...lines: string[]) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    socket.write(
      `GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: y\r\n${lines.map((l) => `${l}\r\n`).join('')}\r\n`,
    );
    let text = '';
    for await (const chunk of socket) text += chunk;
    return text;
  };
  t.match(await ask(), /^HTTP\/1\.1 403 /);
  t.match(await ask('authorization: Bearer bad'), /^HTTP\/1\.1 401 /);
  t.match(await ask('authorization: Bearer good'), /^HTTP\/1\.1 101 .*\r\nx-user: token-user/);
});

t.test('replaced certificate files are used for new connections', async (t) => {
  const newIdentity = (commonName: string) =>
    createSelfSigned({ commonName, names: ['localhost'], ips: ['127.0.0.1'], now: realClock.now() });
  const first = await newIdentity('first');
  const directory = t.testdir({ 'x.crt': first.certificate, 'x.key': first.privateKey });
  const { port, clock } = await setUp(t, [
    `--tls-cert-file=${directory}/x.crt`,
    `--tls-private-key-file=${directory}/x.key`,
  ]);
  const served = async () => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const name = String(socket.getPeerCertificate().subject.CN);
    socket.destroy();
    return name.split('@')[0];
  };
  t.equal(await served(), 'first');
  const second = await newIdentity('second');
  await writeFile(`${directory}/x.crt`, second.certificate);
  await writeFile(`${directory}/x.key`, 'half written');
  await clock.advance(61_000);
  for (let i = 0; i < 3; i += 1)
    t.equal(await served(), 'first', 'a certificate and key that do not match are not used');
  await writeFile(`${directory}/x.key`, second.privateKey);
  await clock.advance(61_000);
  let name = await served();
  for (let tries = 0; name !== 'second' && tries < 100; tries += 1) name = await served();
  t.equal(name, 'second');
});

t.test('replaced CA bundles apply to new connections', async (t) => {
  const now = realClock.now();
  const [first, second] = [
    await createAuthority({ commonName: 'first', now }),
    await createAuthority({ commonName: 'second', now }),
  ];
  const directory = t.testdir({ 'ca.crt': first.certificate });
  const { port, clock } = await setUp(t, [`--client-ca-file=${directory}/ca.crt`]);
  const issue = (by: KeyCertificate) =>
    issueCertificate(by, { subject: { commonName: 'cert-user', organizations: [] }, usages: ['client'], now });
  const [old, fresh] = [await issue(first), await issue(second)];
  const status = async (identity: KeyCertificate) => (await get(port, '/metrics', { identity })).status;
  const settled = async (identity: KeyCertificate, expected: number) => {
    await clock.advance(61_000);
    let code = await status(identity);
    for (let tries = 0; code !== expected && tries < 100; tries += 1) code = await status(identity);
    return code;
  };
  t.same([await status(old), await status(fresh)], [200, 401]);
  await writeFile(`${directory}/ca.crt`, 'half written');
  t.equal(await settled(old, 200), 200, 'an invalid bundle is not used');
  await writeFile(`${directory}/ca.crt`, second.certificate);
  t.equal(await settled(fresh, 200), 200);
  t.equal(await status(old), 401);
});

t.test('each server name gets its certificate, even a replaced one', async (t) => {
  const keys = await generateRsaKey();
  const newIdentity = (commonName: string, names: string[] = [commonName]) =>
    createSelfSigned({ commonName, names, ips: [], now: realClock.now(), keys });
  const own = await createSelfSigned({ commonName: 'own', names: ['own'], ips: [], now: realClock.now() });
  const [named, wild] = [await newIdentity('named.test'), await newIdentity('wild')];
  const directory = t.testdir({
    'own.crt': own.certificate,
    'own.key': own.privateKey,
    'named.crt': named.certificate,
    'named.key': named.privateKey,
    'wild.crt': wild.certificate,
    'wild.key': wild.privateKey,
  });
  const pair = (name: string) => `${directory}/${name}.crt,${directory}/${name}.key`;
  const { port, clock } = await setUp(t, [
    `--tls-cert-file=${directory}/own.crt`,
    `--tls-private-key-file=${directory}/own.key`,
    `--tls-sni-cert-key=${pair('named')}`,
    `--tls-sni-cert-key=${pair('wild')}:*.wild.test,exact.wild.test`,
  ]);
  const served = async (servername: string) => {
    const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const name = String(socket.getPeerCertificate().subject.CN);
    socket.destroy();
    return name.split('@')[0];
  };
  t.equal(await served('other.test'), 'own');
  t.equal(await served('named.test'), 'named.test');
  t.equal(await served('any.wild.test'), 'wild');
  t.equal(await served('two.any.wild.test'), 'own', 'a star stands for one label');
  const renewed = await newIdentity('later');
  await writeFile(`${directory}/wild.crt`, renewed.certificate);
  await writeFile(`${directory}/wild.key`, renewed.privateKey);
  await clock.advance(61_000);
  let name = await served('any.wild.test');
  for (let tries = 0; name !== 'later' && tries < 100; tries += 1) name = await served('any.wild.test');
  t.equal(name, 'later');
});

t.test('cipher suites apply up to TLS 1.2; TLS 1.3 starts with the cheapest suite', async (t) => {
  const negotiated = async (port: number, maxVersion: 'TLSv1.2' | 'TLSv1.3') => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion });
    await once(socket, 'secureConnect');
    const { name } = socket.getCipher();
    socket.destroy();
    return name;
  };
  const { port } = await setUp(t, ['--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384']);
  t.equal(await negotiated(port, 'TLSv1.2'), 'ECDHE-ECDSA-AES256-GCM-SHA384');
  t.equal(await negotiated(port, 'TLSv1.3'), 'TLS_AES_128_GCM_SHA256');
  const { port: open } = await setUp(t);
  t.equal(await negotiated(open, 'TLSv1.2'), 'ECDHE-ECDSA-AES128-GCM-SHA256');
  t.equal(await negotiated(open, 'TLSv1.3'), 'TLS_AES_128_GCM_SHA256');
});

t.test('port 0 disables the server', async (t) => {
  const server = await createDaemonServer({
    name: 'tester',
    values: valuesOf('--secure-port=0'),
    dialect: orchDialect,
    clock: realClock,
    log: silentLogger,
    health: new HealthChecks(),
  });
  t.equal(server, undefined);
});

t.test('debug endpoints are authorized like other paths', async (t) => {
  const verbosity = new Verbosity({ level: 0 });
  const debug = new DebugEndpoints({
    argv: ['x'],
    verbosity,
    configz: { group: { a: 1 } },
    profiler: new InspectorProfilerSource({ clock: realClock }),
  });
  const closed = await setUp(t, [], { debug });
  t.equal((await get(closed.port, '/debug/pprof/')).status, 403);
  t.equal((await get(closed.port, '/configz')).status, 403);
  const { port } = await setUp(t, ['--authorization-always-allow-paths=/debug/*,/configz'], { debug });
  t.same(await get(port, '/configz'), { status: 200, body: '{"group":{"a":1}}' });
  t.match(await get(port, '/debug/pprof/'), { status: 200, body: /<h1>/ });
  t.match(await get(port, '/debug/pprof'), { status: 200, body: /<h1>/ });
  t.match(await get(port, '/debug/pprof/cmdline'), { status: 200, body: 'x' });
  t.match(await get(port, '/debug/pprof/profile?seconds=0.01'), { status: 200 });
  t.equal((await get(port, '/debug/more')).status, 404);
  const put = httpsRequest({
    host: '127.0.0.1',
    port,
    path: '/debug/flags/v',
    method: 'PUT',
    agent: false,
    rejectUnauthorized: false,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  put.end('6');
  const [response] = await once(put, 'response');
  response.resume();
  t.equal(response.statusCode, 200);
  t.equal(verbosity.level, 6);
});
