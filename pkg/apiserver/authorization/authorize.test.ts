import t from 'tap';
import { orchDialect } from '#apimachinery/dialect.js';
import { statusOf } from '#apimachinery/errors/status.js';
import {
  authorize,
  PrivilegedGroupAuthorizer,
  UnionAuthorizer,
  WaitingAuthorizer,
} from '#apiserver/authorization/authorize.js';
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import { PlainFailure } from '#apiserver/http/plain-failure.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

const attributes = (groups: readonly string[]): AuthorizationAttributes => ({
  user: { name: 'bob', groups },
  verb: 'watch',
  resourceRequest: true,
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: '',
  name: '',
  path: '/api/v1/pods',
});

function setUp() {
  const clock = new VirtualClock();
  const roles = new Set<string>();
  const masters = new PrivilegedGroupAuthorizer([orchDialect.groups.masters]);
  const members = [
    masters,
    {
      mode: 'RBAC',
      authorize: ({ user }: AuthorizationAttributes) =>
        ({ decision: user.groups.some((group) => roles.has(group)) ? 'allow' : 'noOpinion', reason: '' }) as const,
    },
  ];
  return { clock, roles, authorizer: new WaitingAuthorizer({ authorizer: new UnionAuthorizer(members), clock }) };
}

t.test('requests allowed without the roles do not wait for them', async (t) => {
  const { authorizer, clock } = setUp();
  t.match(await authorizer.authorize(attributes([orchDialect.groups.masters])), { decision: 'allow' });
  t.equal(clock.pendingTimers, 0);
});

t.test('other requests wait until the roles are loaded', async (t) => {
  const { authorizer, clock, roles } = setUp();
  const answers = Promise.all([
    authorizer.authorize(attributes(['team'])),
    authorizer.authorize(attributes(['other'])),
  ]);
  await clock.advance(1000);
  roles.add('team');
  authorizer.ready();
  t.match(await answers, [{ decision: 'allow' }, { decision: 'noOpinion' }]);
  t.equal(clock.pendingTimers, 0);
  t.match(await authorizer.authorize(attributes(['other'])), { decision: 'noOpinion' });
});

t.test('a request that has waited too long gets 429', async (t) => {
  const { authorizer, clock } = setUp();
  const refused = t.rejects(
    Promise.resolve(authorizer.authorize(attributes(['team']))).catch((error: unknown) => {
      t.match(statusOf(error), { code: 429, details: { retryAfterSeconds: 1 } });
      throw error;
    }),
  );
  await clock.advance(3000);
  await refused;
});

t.test('the first decision of several authorizers counts', async (t) => {
  type Answer = Exclude<Awaited<ReturnType<UnionAuthorizer['authorize']>>, undefined>;
  const none = (reason: string, error?: string): Answer => ({
    decision: 'noOpinion',
    reason,
    ...(error === undefined ? {} : { error }),
  });
  const allow: Answer = { decision: 'allow', reason: 'fine' };
  const deny: Answer = { decision: 'deny', reason: 'never' };
  const rows: readonly (readonly [answers: readonly Answer[], decision: Answer])[] = [
    [[], none('')],
    [[none('a'), none(''), none('b')], none('a\nb')],
    [[none('a'), allow], allow],
    [[none('a', 'broken'), allow], allow],
    [[deny, allow], deny],
    [[none('a'), deny, allow], deny],
    [[none('', 'x'), none('a')], none('a', 'x')],
    [[none('', 'x'), none('a'), none('', 'y'), none('', 'x')], none('a', '[x, y]')],
  ];
  for (const [answers, decision] of rows) {
    const members = answers.map((answer) => ({ mode: 'Test', authorize: () => answer }));
    t.same(await new UnionAuthorizer(members).authorize(attributes([])), decision, JSON.stringify(answers));
  }
});

t.test('a request that no authorizer could decide about fails', async (t) => {
  const broken = { mode: 'Test', authorize: () => ({ decision: 'noOpinion', reason: '', error: 'a < b' }) as const };
  const failure = async (url?: string) => {
    try {
      await authorize(broken, attributes([]), url);
      return undefined;
    } catch (error) {
      return error;
    }
  };
  const failed = await failure('/api/v1/pods?x=1&y=2');
  t.ok(failed instanceof PlainFailure);
  t.match(failed, { text: 'Internal Server Error: "/api/v1/pods?x=1&amp;y=2": a &lt; b\n' });
  t.equal(statusOf(await failure())?.code, 403, 'without a path it is refused, as impersonation is');
});
