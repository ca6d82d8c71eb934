import pino from 'pino';
import t, { type Test } from 'tap';
import { statusOf } from '#apimachinery/errors/status.js';
import { OidcAuthenticator, type OidcOptions } from '#apiserver/authentication/oidc/authenticator.js';
import { algorithm, type Claims, Issuer, pair } from '#test/integration/daemons/oidc-issuer.js';

const startMs = Date.parse('2030-01-01T00:00:00Z');

async function world(t: Test, options: Partial<OidcOptions> = {}) {
  const issuer = await new Issuer(startMs).listen(t);
  const authenticator = new OidcAuthenticator({
    issuer: issuer.url,
    ca: async () => issuer.ca,
    clientId: 'cluster',
    algorithms: [algorithm],
    usernameClaim: 'sub',
    usernamePrefix: '',
    groupsClaim: '',
    groupsPrefix: '',
    requiredClaims: {},
    audiences: ['api'],
    clock: issuer.clock,
    log: pino({ enabled: false }),
    ...options,
  });
  return { issuer, authenticator };
}

const refuses = async (t: Test, authenticator: OidcAuthenticator, token: string, why: string): Promise<void> => {
  const error = await authenticator.authenticateToken(token).catch((error: unknown) => error);
  t.equal(statusOf(error)?.code, 401, why);
};

t.test('a token of the issuer authenticates a user', async (t) => {
  const { issuer, authenticator } = await world(t);
  t.same(await authenticator.authenticateToken(await issuer.token()), {
    name: `${issuer.url}#jane`,
    groups: [],
    method: 'oidc',
  });
  await authenticator.authenticateToken(await issuer.token({ sub: 'joe' }));
  t.same(issuer.requestedPaths, ['/.well-known/openid-configuration', '/keys'], 'its keys are fetched once');
});

t.test('tokens of other issuers are left to other authenticators', async (t) => {
  const { issuer, authenticator } = await world(t);
  t.equal(await authenticator.authenticateToken(await issuer.token({ iss: 'https://elsewhere' })), undefined);
  t.equal(await authenticator.authenticateToken('no.token'), undefined);
  t.same(issuer.requestedPaths, []);
});

t.test('a review gets a user only for an audience of this server', async (t) => {
  const { issuer, authenticator } = await world(t);
  const token = await issuer.token();
  t.equal(await authenticator.authenticateToken(token, ['other']), undefined);
  t.match(await authenticator.authenticateToken(token, ['other', 'api']), { groups: [] });
});

t.test('invalid tokens are refused', async (t) => {
  const { issuer, authenticator } = await world(t);
  const seconds = startMs / 1000;
  await refuses(t, authenticator, await issuer.token({ exp: seconds - 1 }), 'expired');
  await refuses(t, authenticator, await issuer.token({ exp: undefined }), 'for ever');
  await refuses(t, authenticator, await issuer.token({ nbf: seconds + 61 }), 'not yet');
  t.ok(await authenticator.authenticateToken(await issuer.token({ nbf: seconds + 59 })), 'clocks differ');
  await refuses(t, authenticator, await issuer.token({ aud: 'other' }), 'for another client');
  t.ok(await authenticator.authenticateToken(await issuer.token({ aud: ['other', 'cluster'] })));
  await refuses(t, authenticator, await issuer.token({}, 'one', await pair()), 'signed by another key');
  const { authenticator: picky } = await world(t, { issuer: issuer.url, algorithms: ['ES256'] });
  await refuses(t, picky, await issuer.token(), 'signed in a way that is not taken');
});

t.test('claims determine name and groups', async (t) => {
  const { issuer, authenticator } = await world(t, {
    usernameClaim: 'email',
    groupsClaim: 'roles',
    groupsPrefix: 'oidc:',
    requiredClaims: { hd: 'example.com' },
  });
  const claims = { email: 'jane@example.com', hd: 'example.com' };
  const userOf = async (more: Claims) => authenticator.authenticateToken(await issuer.token({ ...claims, ...more }));
  t.same(await userOf({ roles: ['a', 'b'] }), {
    name: 'jane@example.com',
    groups: ['oidc:a', 'oidc:b'],
    method: 'oidc',
  });
  t.same(await userOf({ roles: 'a', email_verified: true }), {
    name: 'jane@example.com',
    groups: ['oidc:a'],
    method: 'oidc',
  });
  t.same(await userOf({}), { name: 'jane@example.com', groups: [], method: 'oidc' });
  const bad: [Claims, string][] = [
    [{ email_verified: false }, 'a mail address that is not verified'],
    [{ email: undefined }, 'no name'],
    [{ email: 1 }, 'a name that is no text'],
    [{ roles: [1] }, 'a group that is no text'],
    [{ hd: undefined }, 'without a claim that is required'],
    [{ hd: 'other.example' }, 'another value of it'],
    [{ _claim_names: { roles: 'elsewhere' } }, 'groups that are somewhere else'],
  ];
  for (const [more, why] of bad) await refuses(t, authenticator, await issuer.token({ ...claims, ...more }), why);
});

t.test('the prefix of user names', async (t) => {
  for (const [usernamePrefix, name] of [
    ['-', 'jane'],
    ['oidc:', 'oidc:jane'],
  ] as const) {
    const { issuer, authenticator } = await world(t, { usernamePrefix });
    t.match(await authenticator.authenticateToken(await issuer.token()), { name });
  }
});

t.test('new keys are fetched when the provider rotates them', async (t) => {
  const { issuer, authenticator } = await world(t);
  await authenticator.authenticateToken(await issuer.token());
  issuer.keys.set('two', await pair());
  const newer = await issuer.token({}, 'two');
  await refuses(t, authenticator, newer, 'they are not asked for again at once');
  issuer.nowMs += 10_000;
  t.ok(await authenticator.authenticateToken(newer));
  t.equal(issuer.requestedPaths.length, 4);
  t.ok(
    await authenticator.authenticateToken(await issuer.token({}, '', issuer.keys.get('two'))),
    'a token that names no key',
  );
});

t.test('an unavailable or wrong provider is tried again later', async (t) => {
  const { issuer, authenticator } = await world(t);
  const token = await issuer.token();
  issuer.down = true;
  await refuses(t, authenticator, token, 'away');
  issuer.down = false;
  await refuses(t, authenticator, token, 'not asked again at once');
  t.equal(issuer.requestedPaths.length, 1);
  issuer.nowMs += 10_000;
  issuer.name = 'https://elsewhere';
  await refuses(t, authenticator, token, 'it is another one');
  issuer.nowMs += 10_000;
  issuer.name = undefined;
  t.ok(await authenticator.authenticateToken(token));
});

t.test('requests to the provider use the current CA bundle', async (t) => {
  const { issuer } = await world(t);
  let ca = (await new Issuer(startMs).listen(t)).ca;
  const { authenticator } = await world(t, { issuer: issuer.url, clock: issuer.clock, ca: async () => ca });
  const token = await issuer.token();
  await refuses(t, authenticator, token, 'no trusted authority');
  ca = issuer.ca;
  issuer.nowMs += 10_000;
  t.ok(await authenticator.authenticateToken(token));
});
