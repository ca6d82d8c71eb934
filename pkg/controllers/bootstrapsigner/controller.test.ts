import { createHmac } from 'node:crypto';
import t from 'tap';
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import type { ConfigMap, Secret } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { BootstrapSignerController, nextExpiryMs, signedInfo } from '#controllers/bootstrapsigner/controller.js';
import { bootstrapToken } from '#controllers/bootstrapsigner/testing/tokens.js';
import { Harness } from '#controllers/framework/testing/harness.js';
import { TokenCleanerController } from '#controllers/tokencleaner/controller.js';

const now = Date.parse('2022-05-03T00:00:00Z');
const info = (data: Record<string, string>): ConfigMap => ({ metadata: { name: 'cluster-info' }, data });
const inOneMinute = formatTime(now + 60_000);

t.test('only valid signing tokens sign', (t) => {
  const rows: [name: string, token: Secret, signs: boolean][] = [
    ['a valid token', bootstrapToken(kubernetesDialect, 'abcdef'), true],
    ['not expired', bootstrapToken(kubernetesDialect, 'abcdef', { expiration: inOneMinute }), true],
    ['expired', bootstrapToken(kubernetesDialect, 'abcdef', { expiration: formatTime(now) }), false],
    ['malformed expiration', bootstrapToken(kubernetesDialect, 'abcdef', { expiration: 'soon' }), false],
    ['expiration without time', bootstrapToken(kubernetesDialect, 'abcdef', { expiration: '2099-01-01' }), false],
    ['without signing usage', bootstrapToken(kubernetesDialect, 'abcdef', { 'usage-bootstrap-signing': 'yes' }), false],
    ['another name', bootstrapToken(kubernetesDialect, 'abcdef', { 'token-id': 'fedcba' }), false],
    ['without id', bootstrapToken(kubernetesDialect, 'abcdef', { 'token-id': '' }), false],
    ['without secret', bootstrapToken(kubernetesDialect, 'abcdef', { 'token-secret': '' }), false],
    ['a long name', bootstrapToken(kubernetesDialect, 'abcdefg'), false],
  ];
  for (const [name, token, signs] of rows) {
    const signed = signedInfo(kubernetesDialect, info({ kubeconfig: 'x' }), [token], now);
    t.same(Object.keys(signed?.data ?? {}), signs ? ['kubeconfig', 'jws-kubeconfig-abcdef'] : [], name);
  }
  const ends = bootstrapToken(kubernetesDialect, 'abcdef', { expiration: inOneMinute });
  t.equal(nextExpiryMs([bootstrapToken(kubernetesDialect, 'fedcba'), ends], now), 60_000);
  t.equal(nextExpiryMs([bootstrapToken(kubernetesDialect, 'fedcba')], now), undefined);
  t.end();
});

t.test('each token has one detached signature, and others are removed', (t) => {
  const tokens = [bootstrapToken(orchDialect, 'abcdef')];
  const signed = signedInfo(
    orchDialect,
    info({ orchconfig: 'content', a: 'b', 'jws-orchconfig-gone00': 'x' }),
    tokens,
    now,
  );
  const jws = signed?.data?.['jws-orchconfig-abcdef'] ?? '';
  const [header = '', payload, signature] = jws.split('.');
  t.same(JSON.parse(Buffer.from(header, 'base64url').toString()), { alg: 'HS256', kid: 'abcdef' });
  t.equal(payload, '', 'detached');
  const input = `${header}.${Buffer.from('content').toString('base64url')}`;
  t.equal(signature, createHmac('sha256', '0123456789abcdef').update(input).digest('base64url'));
  t.same(signed?.data, { orchconfig: 'content', a: 'b', 'jws-orchconfig-abcdef': jws });
  t.equal(signed && signedInfo(orchDialect, signed, tokens, now), undefined, 'unchanged');
  t.equal(signedInfo(orchDialect, info({ a: 'b' }), tokens, now), undefined, 'nothing to sign');
  t.end();
});

t.test('signatures follow tokens, and expired tokens are deleted', async (t) => {
  const harness = new Harness(t, [configmaps, secrets]);
  const { api, dialect, clock } = harness;
  const namespace = dialect.namespaces.public;
  const token = (id: string, data = {}) => api.seed(secrets, bootstrapToken(dialect, id, data));
  api.seed(configmaps, { metadata: { name: 'cluster-info', namespace }, data: { orchconfig: 'x' } });
  api.seed(configmaps, { metadata: { name: 'other', namespace }, data: { orchconfig: 'x' } });
  token('always');
  token('minute', { expiration: formatTime(clock.now() + 60_000) });
  const keys = () => {
    const { data } = api.get<ConfigMap>(configmaps, `${namespace}/cluster-info`) ?? {};
    return Object.keys(data ?? {}).map((key) => key.replace('jws-orchconfig-', ''));
  };
  const left = () => api.list<Secret>(secrets).map(({ metadata }) => metadata.name?.slice(-6));
  await harness.start(new BootstrapSignerController(harness.context));
  t.same(keys().sort(), ['always', 'minute', 'orchconfig']);
  t.same(Object.keys(api.get<ConfigMap>(configmaps, `${namespace}/other`)?.data ?? {}), ['orchconfig']);
  await harness.advance(61_000);
  t.same(keys().sort(), ['always', 'orchconfig'], 'an expired token does not sign');
  token('second');
  await harness.settled();
  t.same(keys().sort(), ['always', 'orchconfig', 'second']);
  api.change<ConfigMap>(configmaps, `${namespace}/cluster-info`, (map) => {
    map.data = { orchconfig: 'y' };
  });
  api.remove(secrets, `${dialect.namespaces.system}/bootstrap-token-always`);
  await harness.settled();
  t.same(keys().sort(), ['orchconfig', 'second']);
  t.same(left().sort(), ['minute', 'second']);
});

t.test('tokens are deleted when they expire', async (t) => {
  const harness = new Harness(t, [secrets]);
  const { api, dialect, clock } = harness;
  const token = (id: string, expiration?: string) =>
    api.seed(secrets, bootstrapToken(dialect, id, expiration === undefined ? {} : { expiration }));
  token('always');
  token('broken', 'soon');
  token('minute', formatTime(clock.now() + 60_000));
  token('longer', formatTime(clock.now() + 60_000));
  api.seed(secrets, { ...bootstrapToken(dialect, 'opaque', { expiration: 'soon' }), type: 'Opaque' });
  const left = () =>
    api
      .list<Secret>(secrets)
      .map(({ metadata }) => metadata.name?.slice(-6))
      .sort();
  await harness.start(new TokenCleanerController(harness.context));
  t.same(left(), ['always', 'longer', 'minute', 'opaque']);
  await harness.advance(30_000);
  api.change<Secret>(secrets, `${dialect.namespaces.system}/bootstrap-token-longer`, (secret) => {
    secret.data = { ...secret.data, expiration: Buffer.from(formatTime(clock.now() + 3600_000)).toString('base64') };
  });
  await harness.advance(31_000);
  t.same(left(), ['always', 'longer', 'opaque']);
});
