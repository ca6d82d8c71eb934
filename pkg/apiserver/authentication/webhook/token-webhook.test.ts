import { Registry } from 'prom-client';
import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { statusOf, tooManyRequests } from '#apimachinery/errors/status.js';
import { tokenCacheMetrics } from '#apiserver/authentication/metrics.js';
import { joinedRefusals, refusalReason, TokenRefusal } from '#apiserver/authentication/token-refusal.js';
import { TokenCache } from '#apiserver/authentication/webhook/token-cache.js';
import { TokenWebhook } from '#apiserver/authentication/webhook/token-webhook.js';
import { WebhookCallError } from '#apiserver/webhooks/call-error.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

/** A webhook whose answer is set by the test, in version v1 of the Kubernetes dialect. */
function setUp(answer: unknown) {
  const bodies: string[] = [];
  const state = { answer };
  const backend = {
    async ask(body: string): Promise<unknown> {
      bodies.push(body);
      if (state.answer instanceof Error) throw state.answer;
      return state.answer;
    },
  };
  const options = { backend, audiences: ['api'], log: silentLogger };
  return {
    bodies,
    state,
    webhook: new TokenWebhook({ ...options, dialect: kubernetesDialect, version: 'v1' }),
    options,
  };
}

t.test('the review that the webhook gets', async (t) => {
  const { bodies, options } = setUp({ status: {} });
  const rows = [
    [kubernetesDialect, 'v1', 'authentication.k8s.io/v1'],
    [kubernetesDialect, 'v1beta1', 'authentication.k8s.io/v1beta1'],
    [orchDialect, 'v1', 'authentication.orch.io/v1'],
  ] as const;
  for (const [dialect, version, apiVersion] of rows) {
    await new TokenWebhook({ ...options, dialect, version }).authenticateToken('t0ken', ['a', 'b']);
    const spec = { token: 't0ken', audiences: ['a', 'b'] };
    const metadata = { creationTimestamp: null };
    t.same(JSON.parse(bodies.pop() ?? ''), { kind: 'TokenReview', apiVersion, metadata, spec, status: { user: {} } });
  }
});

const user = { username: 'jane', uid: 'u1', groups: ['dev'], extra: { team: ['a', 'b'] } };
const jane = { name: 'jane', uid: 'u1', groups: ['dev'], extra: { team: ['a', 'b'] }, method: 'token-webhook' };

t.test('what the webhook answers about a token', async (t) => {
  const rows: readonly (readonly [name: string, status: object, result: object | undefined, audiences?: string[]])[] = [
    ['a user', { authenticated: true, user }, { user: jane, audiences: ['api'] }],
    [
      'little of a user',
      { authenticated: true, user: { username: 'jo' } },
      { user: { name: 'jo', groups: [], method: 'token-webhook' }, audiences: ['api'] },
    ],
    ['no user', { authenticated: false }, undefined],
    ['an empty status', {}, undefined],
    [
      'audiences that are allowed',
      { authenticated: true, user, audiences: ['x', 'b'] },
      { user: jane, audiences: ['b'] },
      ['a', 'b'],
    ],
    ['audiences that are not allowed', { authenticated: true, user, audiences: ['x'] }, undefined, ['a', 'b']],
    ['no audiences although others are asked for', { authenticated: true, user }, undefined, ['a', 'b']],
    ['audiences of another server', { authenticated: true, user, audiences: ['x'] }, undefined],
    [
      'any audience where none is asked for',
      { authenticated: true, user, audiences: ['x'] },
      { user: jane, audiences: [] },
      [],
    ],
  ];
  for (const [name, status, result, audiences] of rows) {
    const { webhook } = setUp({ kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', status });
    t.same(await webhook.reviewToken('t', audiences), result, name);
  }
});

t.test('no failure of the webhook lets a token in', async (t) => {
  const ok = { authenticated: true, user };
  const versionAndKind =
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  const rows: readonly (readonly [answer: unknown, why: string])[] = [
    [{ status: { authenticated: false, error: 'revoked' } }, 'revoked'],
    [new WebhookCallError('unreachable', 'Post "https://x": EOF'), 'Post "https://x": EOF'],
    [
      [],
      `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type ${versionAndKind}`,
    ],
    [
      { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1beta1', status: ok },
      'converting (v1beta1.TokenReview) to (v1.TokenReview): unknown conversion',
    ],
    [{ kind: 'Pod', apiVersion: 'v1', status: ok }, 'converting (v1.Pod) to (v1.TokenReview): unknown conversion'],
    [
      { status: { ...ok, authenticated: 'true' } },
      'json: cannot unmarshal string into Go struct field TokenReviewStatus.status.authenticated of type bool',
    ],
    [
      { status: { ...ok, user: { ...user, groups: 'dev' } } },
      'json: cannot unmarshal string into Go struct field UserInfo.status.user.groups of type []string',
    ],
    [
      { status: { ...ok, user: { ...user, groups: [1] } } },
      'json: cannot unmarshal number into Go struct field UserInfo.status.user.groups of type string',
    ],
    [
      { status: { ...ok, user: { ...user, extra: { a: 'b' } } } },
      'json: cannot unmarshal string into Go struct field UserInfo.status.user.extra of type v1.ExtraValue',
    ],
    [
      { status: { ...ok, audiences: 'api' } },
      'json: cannot unmarshal string into Go struct field TokenReviewStatus.status.audiences of type []string',
    ],
    [{ status: null }, ''],
  ];
  for (const [answer, why] of rows) {
    const { webhook } = setUp(answer);
    const error = await webhook.reviewToken('t').then(
      (result) => (result === undefined ? new TokenRefusal([]) : result),
      (failure: unknown) => failure,
    );
    t.match(statusOf(error), { code: 401, message: 'Unauthorized' }, `status: ${why}`);
    t.equal(refusalReason(error), why === '' ? 'invalid bearer token' : `[invalid bearer token, ${why}]`);
  }
});

t.test('at the limit of calls the client may try again', async (t) => {
  const { webhook } = setUp(tooManyRequests('busy', 1));
  t.equal(statusOf(await webhook.reviewToken('t').catch((error: unknown) => error))?.code, 429);
});

t.test('the reasons of several authenticators', (t) => {
  const own = new TokenRefusal(['revoked']);
  t.equal(refusalReason(joinedRefusals([own])), '[invalid bearer token, revoked]');
  const plain = Object.assign(new Error('x'), { status: { code: 401 } });
  t.equal(joinedRefusals([plain, plain]), plain);
  t.equal(refusalReason(joinedRefusals([plain, own, own])), '[invalid bearer token, revoked]');
  const broken = new Error('broken');
  t.equal(joinedRefusals([own, broken]), broken, 'the token may be valid after all');
  t.end();
});

function cached(answer: unknown, ttlMs = 120_000) {
  const clock = new VirtualClock();
  const registry = new Registry();
  const { webhook, state, bodies } = setUp(answer);
  const key = Buffer.alloc(32);
  const cache = new TokenCache({ authenticator: webhook, clock, ttlMs, key, metrics: tokenCacheMetrics(registry) });
  return { cache, clock, state, registry, calls: () => bodies.length };
}

t.test('answers are cached for a time, refusals too, and failures are not', async (t) => {
  const { cache, clock, state, calls, registry } = cached({ status: { authenticated: true, user } });
  await cache.authenticateToken('t');
  t.same(await cache.authenticateToken('t'), jane);
  t.equal(calls(), 1, 'cached');
  await cache.authenticateToken('t', ['api']);
  t.equal(calls(), 2, 'other audiences are another question');
  await clock.advance(120_000);
  state.answer = { status: {} };
  t.equal(await cache.authenticateToken('t'), undefined);
  t.equal(await cache.authenticateToken('t'), undefined);
  t.equal(calls(), 3, 'expired once');
  await clock.advance(120_000);
  state.answer = new WebhookCallError('unreachable', 'gone');
  await t.rejects(cache.authenticateToken('t'), { message: 'Unauthorized' });
  await t.rejects(cache.authenticateToken('t'), { message: 'Unauthorized' });
  t.equal(calls(), 5, 'failures are not remembered');
  const metrics = await registry.metrics();
  t.match(metrics, 'authentication_token_cache_request_total{status="hit"} 2');
  t.match(metrics, 'authentication_token_cache_fetch_total{status="error"} 2');
});

t.test('without a time nothing is cached', async (t) => {
  const { cache, calls } = cached({ status: { authenticated: true, user } }, 0);
  await cache.authenticateToken('t');
  await cache.authenticateToken('t');
  t.equal(calls(), 2);
});

t.test('concurrent requests with one token share a call', async (t) => {
  const { cache, calls } = cached({ status: { authenticated: true, user } }, 0);
  t.same(await Promise.all([cache.authenticateToken('t'), cache.authenticateToken('t')]), [jane, jane]);
  t.equal(calls(), 1);
});
