import { generateKeyPairSync } from 'node:crypto';
import t, { type Test } from 'tap';
import { secrets, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { Secret, ServiceAccount } from '#api/core/v1/types.gen.js';
import { conflict } from '#apimachinery/errors/status.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { ServiceAccountTokenController } from '#controllers/serviceaccounttoken/controller.js';
import { Settable } from '#daemon/certificates/testing/settable.js';
import { jwtSigningKey, verifyJwt } from '#pki/jwt.js';

const key = jwtSigningKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
const namespace = 'shop';

function setUp(t: Test, { generate = false, rootCA }: { generate?: boolean; rootCA?: string } = {}) {
  const harness = new Harness(t, [serviceaccounts, secrets]);
  const { api, dialect } = harness;
  const followed = { key: new Settable(key), rootCA: rootCA === undefined ? undefined : new Settable(rootCA) };
  const controller = new ServiceAccountTokenController(harness.context, { concurrency: 1, ...followed, generate });
  const account = (name: string) => api.seed(serviceaccounts, { metadata: { name, namespace } });
  const annotations = (name: string, uid?: string) => ({
    [dialect.annotations.serviceAccountName]: name,
    ...(uid === undefined ? {} : { [dialect.annotations.serviceAccountUID]: uid }),
  });
  const type = dialect.secretTypes.serviceAccountToken;
  const secret = (name: string, owner: string, more: Partial<Secret> = {}, uid?: string) =>
    api.seed(secrets, { metadata: { name, namespace, annotations: annotations(owner, uid) }, type, ...more });
  const get = (name: string) => api.get<Secret>(secrets, `${namespace}/${name}`);
  const text = (name: string, field: string) => Buffer.from(get(name)?.data?.[field] ?? '', 'base64').toString();
  const getAccount = (name: string) => api.get<ServiceAccount>(serviceaccounts, `${namespace}/${name}`);
  return { harness, api, controller, followed, account, secret, get, text, getAccount };
}

t.test('a secret that a user creates is filled in', async (t) => {
  const { harness, controller, account, secret, get, text } = setUp(t, { rootCA: 'the CA' });
  const { uid } = account('web').metadata;
  secret('own', 'web', { data: { more: 'eA==' } });
  await harness.start(controller);
  t.equal(text('own', 'namespace'), namespace);
  t.equal(text('own', 'ca.crt'), 'the CA');
  t.equal(text('own', 'more'), 'x', 'other data stays');
  t.same(verifyJwt([key], text('own', 'token')), {
    iss: 'orch/serviceaccount',
    'orch.io/serviceaccount/namespace': namespace,
    'orch.io/serviceaccount/secret.name': 'own',
    'orch.io/serviceaccount/service-account.name': 'web',
    'orch.io/serviceaccount/service-account.uid': uid,
    sub: 'system:serviceaccount:shop:web',
  });
  t.match(get('own')?.metadata.annotations, { 'orch.io/service-account.uid': uid });
  t.same(
    harness.api.calls.filter(({ verb }) => verb === 'update').map(({ resource }) => resource),
    ['secrets'],
    'once, and the account is not changed',
  );
});

t.test('a token stays, and a new CA is written', async (t) => {
  const { harness, controller, account, secret, text } = setUp(t, { rootCA: 'new' });
  const { uid } = account('web').metadata;
  const data = { token: 'dA==', namespace: 'bg==', 'ca.crt': 'b2xk' };
  secret('own', 'web', { data }, uid);
  await harness.start(controller);
  t.same(
    ['token', 'namespace', 'ca.crt'].map((field) => text('own', field)),
    ['t', 'n', 'new'],
  );
});

t.test('secrets are deleted with their account', async (t) => {
  const { harness, api, controller, account, secret, get } = setUp(t);
  const { uid } = account('web').metadata;
  account('other');
  secret('own', 'web', {}, uid);
  secret('strange', 'missing');
  secret('late', 'web', {}, 'of an earlier account');
  secret('plain', 'web', { type: 'Opaque' });
  secret('others', 'other');
  await harness.start(controller);
  t.ok(get('own'));
  t.equal(get('strange'), undefined, 'of an account that never existed');
  t.equal(get('late'), undefined, 'of a deleted account');
  api.remove(serviceaccounts, `${namespace}/web`);
  await harness.settled();
  t.equal(get('own'), undefined);
  t.ok(get('plain') && get('others'), 'others stay');
});

t.test('an account that the cache does not show yet keeps its secrets', async (t) => {
  const { harness, controller, account, secret, text } = setUp(t);
  await harness.start(controller);
  const heal = harness.freeze('serviceaccounts');
  account('web');
  secret('own', 'web');
  await harness.advance(5000);
  t.not(text('own', 'token'), '');
  heal();
});

t.test('references to deleted secrets are removed', async (t) => {
  const { harness, api, controller, account, secret, getAccount } = setUp(t);
  const { uid } = account('web').metadata;
  api.change<ServiceAccount>(serviceaccounts, `${namespace}/web`, (object) => {
    object.secrets = [{ name: 'own' }, { name: 'mountable' }];
  });
  secret('own', 'web', {}, uid);
  await harness.start(controller);
  let refused = 0;
  const heal = api.intercept((call) => {
    if (call.verb !== 'update' || call.resource !== 'serviceaccounts') return undefined;
    refused += 1;
    return conflict({ group: '', resource: 'serviceaccounts' }, 'web', 'changed');
  });
  api.remove(secrets, `${namespace}/own`);
  await harness.settled();
  t.equal(refused, 1);
  heal();
  await harness.advance(100);
  t.same(getAccount('web')?.secrets, [{ name: 'mountable' }]);
});

t.test('conflicts are retried', async (t) => {
  const { harness, api, controller, account, secret, text } = setUp(t);
  account('web');
  secret('own', 'web');
  let refused = false;
  api.intercept((call) => {
    if (call.verb !== 'update' || refused) return undefined;
    refused = true;
    api.change<Secret>(secrets, `${namespace}/own`, ({ metadata }) => {
      metadata.labels = { changed: 'yes' };
    });
    return conflict({ group: '', resource: 'secrets' }, 'own', 'changed');
  });
  await harness.start(controller);
  t.ok(refused);
  t.not(text('own', 'token'), '');
});

t.test('accounts get secrets if generation is enabled', async (t) => {
  const { harness, api, controller, account, getAccount } = setUp(t, { generate: true });
  account('web');
  await harness.start(controller);
  const existing = () => api.list<Secret>(secrets);
  const [secret] = existing();
  t.match(secret, { metadata: { name: /^web-token-.{5}$/ }, data: { token: /./, namespace: /./ } });
  t.same(getAccount('web')?.secrets, [{ name: secret?.metadata.name }]);
  await harness.advance(60_000);
  t.equal(existing().length, 1, 'one');
  api.remove(secrets, `${namespace}/${secret?.metadata.name}`);
  await harness.advance(60_000);
  t.equal(existing().length, 1, 'another');
  t.same(getAccount('web')?.secrets, [{ name: existing()[0]?.metadata.name }]);
});

t.test('a secret without a reference is deleted', async (t) => {
  const { harness, api, controller, account, getAccount } = setUp(t, { generate: true });
  account('web');
  let refused = false;
  api.intercept((call) => {
    if (call.verb !== 'update' || call.resource !== 'serviceaccounts' || refused) return undefined;
    refused = true;
    api.change<ServiceAccount>(serviceaccounts, `${namespace}/web`, ({ metadata }) => {
      metadata.labels = { changed: 'yes' };
    });
    return conflict({ group: '', resource: 'serviceaccounts' }, 'web', 'changed');
  });
  await harness.start(controller);
  await harness.advance(60_000);
  t.ok(refused);
  const names = api.list<Secret>(secrets).map(({ metadata }) => metadata.name);
  t.same(
    getAccount('web')?.secrets,
    names.map((name) => ({ name })),
  );
  t.equal(names.length, 1);
});

t.test('a new key signs new tokens, and a new CA is written to all secrets', async (t) => {
  const { harness, controller, followed, account, secret, text } = setUp(t, { rootCA: 'old' });
  account('web');
  secret('before', 'web');
  await harness.start(controller);
  const other = jwtSigningKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
  followed.key.set(other);
  followed.rootCA?.set('new');
  secret('after', 'web');
  await harness.settled();
  t.ok(verifyJwt([key], text('before', 'token')), 'a token stays');
  t.ok(verifyJwt([other], text('after', 'token')));
  t.same([text('before', 'ca.crt'), text('after', 'ca.crt')], ['new', 'new']);
});
