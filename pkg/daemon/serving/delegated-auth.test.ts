/**
 * A matrix of delegated authentication and authorization: certificate, token, proxy headers or none; allowed or denied;
 * with and without the API server; first request, cached or expired; lookup failures tolerated or not.
 */
import { Agent } from 'node:https';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { FakeReviews, get, startServer } from '#daemon/serving/testing/server-fixture.js';
import { createAuthority, issueCertificate, type KeyCertificate } from '#pki/certificate.js';

type Request = Parameters<typeof get>[2];

interface Credential {
  readonly name: string;
  readonly user: string;
  readonly request: Request;
  /** The user needs a token review, not only an access review. */
  readonly reviewed: boolean;
}

async function credentials(authority: KeyCertificate, proxies: KeyCertificate): Promise<readonly Credential[]> {
  const now = realClock.now();
  const issue = (by: KeyCertificate, commonName: string) =>
    issueCertificate(by, { subject: { commonName, organizations: [] }, usages: ['client'], now });
  return [
    {
      name: 'certificate',
      user: 'cert-user',
      request: { identity: await issue(authority, 'cert-user') },
      reviewed: false,
    },
    { name: 'token', user: 'token-user', request: { headers: { authorization: 'Bearer good' } }, reviewed: true },
    {
      name: 'proxy headers',
      user: 'spoken-for',
      request: { identity: await issue(proxies, 'proxy'), headers: { 'x-remote-user': 'spoken-for' } },
      reviewed: false,
    },
    { name: 'anonymous', user: 'system:anonymous', request: {}, reviewed: false },
  ];
}

t.test('every combination of user, right and time has the expected outcome', async (t) => {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const proxies = await createAuthority({ commonName: 'proxies', now });
  const directory = t.testdir({ 'ca.crt': authority.certificate, 'proxies.crt': proxies.certificate });
  const argv = [
    `--client-ca-file=${directory}/ca.crt`,
    `--requestheader-client-ca-file=${directory}/proxies.crt`,
    '--authentication-token-webhook-cache-ttl=10s',
    '--authorization-webhook-cache-authorized-ttl=30s',
    '--authorization-webhook-cache-unauthorized-ttl=20s',
  ];
  for (const { name, user, request, reviewed } of await credentials(authority, proxies)) {
    for (const allowed of [true, false]) {
      const what = `${name}, ${allowed ? 'allowed' : 'denied'}`;
      const clock = new VirtualClock(now);
      const { port, reviews } = await startServer(t, argv, { clock });
      reviews.readers.clear();
      if (allowed) reviews.readers.add(user);
      const status = allowed ? 200 : 403;
      const ask = async () => (await get(port, '/metrics', request)).status;
      const reviewCounts = () => [reviews.count('tokenreviews'), reviews.count('subjectaccessreviews')];

      t.equal(await ask(), status, `${what}: asked for the first time`);
      t.same(reviewCounts(), [reviewed ? 1 : 0, 1], what);
      t.equal(await ask(), status, `${what}: kept`);
      t.same(reviewCounts(), [reviewed ? 1 : 0, 1], `${what}: not asked again`);
      reviews.down = true;
      t.equal(await ask(), status, `${what}: kept while the API server is away`);
      t.equal((await get(port, '/healthz', request)).status, 200, `${what}: needs no rights`);

      await clock.advance(11_000);
      t.equal(await ask(), reviewed ? 401 : status, `${what}: who it is has run out, what it may has not`);
      await clock.advance(allowed ? 20_000 : 10_000);
      t.equal(await ask(), reviewed ? 401 : 500, `${what}: all has run out while the API server is away`);
      reviews.down = false;
      t.equal(await ask(), status, `${what}: the API server is back`);
    }
  }
});

t.test('the lookup of settings may be skipped, and its failure tolerated', async (t) => {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const proxies = await createAuthority({ commonName: 'proxies', now });
  const published = {
    'client-ca-file': authority.certificate,
    'requestheader-client-ca-file': proxies.certificate,
    'requestheader-username-headers': '["x-remote-user"]',
    'requestheader-group-headers': '["x-remote-group"]',
    'requestheader-extra-headers-prefix': '["x-remote-extra-"]',
    'requestheader-allowed-names': '["proxy"]',
  };
  const clock = new VirtualClock(now);
  const start = (down: boolean, argv: readonly string[]) => {
    const reviews = new FakeReviews();
    Object.assign(reviews, { down, published });
    return startServer(t, argv, { clock, authenticationClient: reviews, authorizationClient: reviews }).then(
      ({ port }) => ({ port, reviews }),
    );
  };
  await t.rejects(start(true, []), /down/, 'an unreachable API server is not tolerated');
  const there = await start(false, []);
  const tolerated = await start(true, ['--authentication-tolerate-lookup-failure']);
  const skipped = await start(false, ['--authentication-skip-lookup']);
  for (const { name, request } of await credentials(authority, proxies)) {
    const status = async (port: number) => (await get(port, '/metrics', request)).status;
    const isKnown = name !== 'anonymous';
    t.equal(await status(there.port), isKnown ? 200 : 403, `${name}: looked up`);
    // Without CA bundles only tokens identify users.
    t.equal(await status(skipped.port), name === 'token' ? 200 : 403, `${name}: skipped`);
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const { identity } = (await credentials(authority, proxies))[0]?.request ?? {};
  const status = async () => (await get(tolerated.port, '/metrics', { ...(identity && { identity }), agent })).status;
  t.equal(await status(), 500, 'the API server is down, even for public paths');
  tolerated.reviews.down = false;
  t.equal(await status(), 403, 'tolerated: the authority of the certificate is not loaded yet');
  let last = 0;
  for (let tries = 0; last !== 200 && tries < 100; tries += 1) {
    await clock.advance(1_100);
    last = await status();
  }
  t.equal(last, 200, 'the authority is loaded soon after the API server is back, for the same connection, too');
});

t.test('settings are looked up again while the daemon runs', async (t) => {
  const now = realClock.now();
  const [first, second] = [
    await createAuthority({ commonName: 'first', now }),
    await createAuthority({ commonName: 'second', now }),
  ];
  const identity = await issueCertificate(second, {
    subject: { commonName: 'cert-user', organizations: [] },
    usages: ['client'],
    now,
  });
  const clock = new VirtualClock(now);
  const reviews = new FakeReviews();
  reviews.published = { 'client-ca-file': first.certificate };
  const { port } = await startServer(t, [], { clock, authenticationClient: reviews, authorizationClient: reviews });
  const settled = async (expected: number) => {
    await clock.advance(61_000);
    let status = 0;
    for (let tries = 0; status !== expected && tries < 100; tries += 1) {
      ({ status } = await get(port, '/metrics', { identity }));
    }
    return status;
  };
  t.equal(await settled(401), 401);
  reviews.published = { 'client-ca-file': second.certificate };
  t.equal(await settled(200), 200);
  reviews.down = true;
  await clock.advance(61_000);
  t.equal((await get(port, '/healthz', { identity })).status, 200, 'earlier settings stay in use');
  reviews.down = false;
  t.equal(await settled(200), 200);
});

t.test('one valid credential is enough', async (t) => {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'ca', now });
  const stranger = await createAuthority({ commonName: 'ca', now });
  const directory = t.testdir({ 'ca.crt': authority.certificate });
  const clock = new VirtualClock(now);
  const { port } = await startServer(t, [`--client-ca-file=${directory}/ca.crt`], { clock });
  const issue = (by: KeyCertificate) =>
    issueCertificate(by, { subject: { commonName: 'cert-user', organizations: [] }, usages: ['client'], now });
  const [trusted, unknown] = [await issue(authority), await issue(stranger)];
  const status = async (identity: KeyCertificate, token: string) =>
    (await get(port, '/metrics', { identity, headers: { authorization: `Bearer ${token}` } })).status;
  t.equal(await status(trusted, 'bad'), 200);
  t.equal(await status(unknown, 'good'), 200);
  t.equal(await status(unknown, 'bad'), 401);
});
