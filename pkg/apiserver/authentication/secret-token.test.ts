import { generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { secrets, serviceaccounts } from '#api/core/v1/resources.gen.js';
import { secretTokenClaims } from '#api/core/v1/secret/token-claims.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { SecretTokenAuthenticator } from '#apiserver/authentication/secret-token.js';
import { MemoryObjectReader } from '#apiserver/objects/testing/memory-object-reader.js';
import { type JwtClaims, jwtSigningKey, signJwt } from '#pki/jwt.js';

const makeKey = () => jwtSigningKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
const key = makeKey();
const account = { metadata: { name: 'web', namespace: 'prod', uid: 'sa-1' } };
const secret = { metadata: { name: 'web-token', namespace: 'prod', uid: 's-1' } };
const claims: JwtClaims = secretTokenClaims(dialect, account, secret);
const unauthorized = { name: 'StatusError', status: { reason: 'Unauthorized' } };
const deletionTimestamp = '2030-01-01T00:00:00Z';

function setUp({ lookup = true } = {}) {
  const reader = new MemoryObjectReader();
  let uses = 0;
  const used = () => {
    uses += 1;
  };
  const authenticator = new SecretTokenAuthenticator({
    dialect,
    keys: [key],
    audiences: ['api'],
    reader,
    lookup,
    used,
  });
  const hold = (token: string, more: object = {}) =>
    reader.put(secrets, {
      metadata: { ...secret.metadata, ...more },
      data: { token: Buffer.from(token).toString('base64') },
    });
  return { reader, hold, uses: () => uses, ask: authenticator.authenticateToken.bind(authenticator) };
}

t.test('a token authenticates its account as long as its secret contains it', async (t) => {
  const { reader, hold, ask, uses } = setUp();
  const token = signJwt(key, claims);
  reader.put(serviceaccounts, account);
  await t.rejects(ask(token), unauthorized, 'no secret');
  hold(token);
  const user = {
    name: 'system:serviceaccount:prod:web',
    uid: 'sa-1',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:prod'],
    method: 'secret-token',
  };
  t.same(await ask(token), user);
  t.same(await ask(token, ['other', 'api']), user);
  await t.rejects(ask(token, ['other']), unauthorized, 'it is valid for this server only');
  t.equal(uses(), 3);
  hold(signJwt(key, claims));
  await t.rejects(ask(token), unauthorized, 'another token');
  hold(token, { deletionTimestamp });
  await t.rejects(ask(token), unauthorized, 'a deleted secret');
  hold(token);
  reader.put(serviceaccounts, { metadata: { ...account.metadata, deletionTimestamp } });
  await t.rejects(ask(token), unauthorized, 'a deleted account');
  reader.put(serviceaccounts, { metadata: { ...account.metadata, uid: 'sa-2' } });
  await t.rejects(ask(token), unauthorized, 'another account of that name');
  reader.remove(serviceaccounts, 'prod', 'web');
  await t.rejects(ask(token), unauthorized, 'no account');
});

t.test('tokens without the required claims are refused', async (t) => {
  const { ask } = setUp({ lookup: false });
  t.match(await ask(signJwt(key, claims)), { uid: 'sa-1' });
  t.equal(await ask('some.other.token'), undefined);
  t.equal(await ask(signJwt(key, { ...claims, iss: 'https://issuer' })), undefined, "another kind's");
  await t.rejects(ask(signJwt(makeKey(), claims)), unauthorized, "another key's");
  for (const name of Object.keys(claims).filter((each) => each !== 'iss')) {
    const { [name]: _, ...others } = claims;
    await t.rejects(ask(signJwt(key, others)), unauthorized, `no ${name}`);
    await t.rejects(ask(signJwt(key, { ...claims, [name]: 7 })), unauthorized, `a number as ${name}`);
  }
  const sub = 'system:serviceaccount:prod:admin';
  await t.rejects(ask(signJwt(key, { ...claims, sub })), unauthorized, 'a subject of another account');
});
