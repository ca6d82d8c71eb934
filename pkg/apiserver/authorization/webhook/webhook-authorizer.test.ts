import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { statusOf, tooManyRequests } from '#apimachinery/errors/status.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import { WebhookAuthorizer } from '#apiserver/authorization/webhook/webhook-authorizer.js';
import { WebhookCallError } from '#apiserver/webhooks/call-error.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { silentLogger } from '#daemon/log/logger.js';

const pods: AuthorizationAttributes = {
  user: { name: 'jane', groups: ['dev', 'ops'], uid: 'u1', extra: { team: ['a'] } },
  verb: 'get',
  resourceRequest: true,
  group: 'apps',
  version: 'v1',
  resource: 'deployments',
  subresource: 'status',
  namespace: 'ns',
  name: 'web',
  path: '/apis/apps/v1/namespaces/ns/deployments/web/status',
};
const path: AuthorizationAttributes = {
  ...pods,
  user: { name: 'jane', groups: [] },
  resourceRequest: false,
  path: '/healthz',
};

function setUp(answer: unknown, dialect: Dialect = kubernetesDialect, version: 'v1' | 'v1beta1' = 'v1') {
  const bodies: string[] = [];
  const state = { answer };
  const clock = new VirtualClock();
  const backend = {
    async ask(body: string): Promise<unknown> {
      bodies.push(body);
      if (state.answer instanceof Error) throw state.answer;
      return state.answer;
    },
  };
  const ttls = { allowedTtlMs: 300_000, refusedTtlMs: 30_000 };
  const authorizer = new WebhookAuthorizer({ dialect, backend, version, clock, log: silentLogger, ...ttls });
  return { authorizer, bodies, state, clock };
}

t.test('the review that the webhook gets', async (t) => {
  const rows = [
    [kubernetesDialect, 'v1', 'authorization.k8s.io/v1', 'groups'],
    [kubernetesDialect, 'v1beta1', 'authorization.k8s.io/v1beta1', 'group'],
    [orchDialect, 'v1', 'authorization.orch.io/v1', 'groups'],
  ] as const;
  for (const [dialect, version, apiVersion, groups] of rows) {
    const { authorizer, bodies } = setUp({ status: { allowed: true } }, dialect, version);
    await authorizer.authorize(pods);
    await authorizer.authorize(path);
    const review = { kind: 'SubjectAccessReview', apiVersion, metadata: { creationTimestamp: null } };
    const { namespace, verb, group, resource, subresource, name } = pods;
    const resourceAttributes = { namespace, verb, group, version: 'v1', resource, subresource, name };
    const person = { user: 'jane', [groups]: ['dev', 'ops'], extra: { team: ['a'] }, uid: 'u1' };
    const spec = { resourceAttributes, ...person };
    t.same(JSON.parse(bodies[0] ?? ''), { ...review, spec, status: { allowed: false } }, `a resource in ${apiVersion}`);
    const pathSpec = { nonResourceAttributes: { path: '/healthz', verb: 'get' }, user: 'jane' };
    t.same(JSON.parse(bodies[1] ?? ''), { ...review, spec: pathSpec, status: { allowed: false } }, 'a path');
  }
});

t.test('what the answers decide', async (t) => {
  const both = 'webhook subject access review returned both allow and deny response';
  const rows: readonly (readonly [name: string, answer: unknown, decision: object])[] = [
    ['allowed', { status: { allowed: true, reason: 'fine' } }, { decision: 'allow', reason: 'fine' }],
    ['not allowed', { status: { allowed: false, reason: 'no' } }, { decision: 'noOpinion', reason: 'no' }],
    ['no status', {}, { decision: 'noOpinion', reason: '' }],
    ['denied', { status: { denied: true, reason: 'never' } }, { decision: 'deny', reason: 'never' }],
    ['both', { status: { allowed: true, denied: true } }, { decision: 'deny', reason: '', error: both }],
    [
      'a failed call',
      new WebhookCallError('unreachable', 'Post "x": EOF'),
      { decision: 'noOpinion', reason: '', error: 'Post "x": EOF' },
    ],
    [
      'a text for a flag',
      { status: { allowed: 'true' } },
      {
        decision: 'noOpinion',
        reason: '',
        error:
          'json: cannot unmarshal string into Go struct field SubjectAccessReviewStatus.status.allowed of type bool',
      },
    ],
    [
      'another version',
      { kind: 'SubjectAccessReview', apiVersion: 'authorization.k8s.io/v1beta1', status: { allowed: true } },
      {
        decision: 'noOpinion',
        reason: '',
        error: 'converting (v1beta1.SubjectAccessReview) to (v1.SubjectAccessReview): unknown conversion',
      },
    ],
    [
      'another kind',
      { kind: 'Status', apiVersion: 'v1', status: 'Success' },
      {
        decision: 'noOpinion',
        reason: '',
        error: 'converting (v1.Status) to (v1.SubjectAccessReview): unknown conversion',
      },
    ],
  ];
  for (const [name, answer, decision] of rows) t.same(await setUp(answer).authorizer.authorize(pods), decision, name);
});

t.test('permissions and refusals are cached for times of their own, failures not at all', async (t) => {
  const { authorizer, bodies, state, clock } = setUp({ status: { allowed: true } });
  await authorizer.authorize(pods);
  await clock.advance(299_000);
  await authorizer.authorize(pods);
  t.equal(bodies.length, 1, 'a permission is cached for five minutes');
  state.answer = { status: { denied: true, reason: 'never' } };
  await clock.advance(1000);
  t.match(await authorizer.authorize(pods), { decision: 'deny' });
  await clock.advance(29_000);
  t.match(await authorizer.authorize(pods), { decision: 'deny', reason: 'never' });
  t.equal(bodies.length, 2, 'a refusal is cached for half a minute');
  state.answer = new WebhookCallError('unreachable', 'gone');
  await clock.advance(1000);
  await authorizer.authorize(pods);
  await authorizer.authorize(pods);
  t.equal(bodies.length, 4, 'failures');
  state.answer = { status: { allowed: true } };
  for (const attributes of [{ ...pods, verb: 'list' }, { ...pods, user: { ...pods.user, groups: [] } }, path]) {
    await authorizer.authorize(attributes);
  }
  t.equal(bodies.length, 7, 'other questions');
});

t.test('long questions and long reasons are not cached', async (t) => {
  const { authorizer, bodies, state } = setUp({ status: { allowed: true } });
  const long = { ...path, path: `/${'x'.repeat(10_000)}` };
  await authorizer.authorize(long);
  await authorizer.authorize(long);
  t.equal(bodies.length, 2);
  state.answer = { status: { allowed: true, reason: 'x'.repeat(4097) } };
  await authorizer.authorize(pods);
  await authorizer.authorize(pods);
  t.equal(bodies.length, 4);
});

t.test('at the limit of calls the client may try again', async (t) => {
  const { authorizer } = setUp(tooManyRequests('busy', 1));
  t.equal(statusOf(await authorizer.authorize(pods).catch((error: unknown) => error))?.code, 429);
});
