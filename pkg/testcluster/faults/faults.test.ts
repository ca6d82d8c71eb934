import t from 'tap';
import { configmaps } from '#api/core/v1/resources.gen.js';
import { encodeWatchFrame } from '#apimachinery/codec/watch-event-frames.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { IterableBody } from '#http/server/body.js';
import { FaultDecider, type FaultRequest } from '#testcluster/faults/decide.js';
import { EventSplitter } from '#testcluster/faults/event-splitter.js';
import { isOwnUser } from '#testcluster/faults/own-users.js';
import { FaultPlanError, parseFaultPlan, type WatchFaults } from '#testcluster/faults/rules.js';
import { FaultyWatchBody } from '#testcluster/faults/watch-faults.js';
import { OperatorWorld } from '#testcluster/testing/operator-world.js';

const update: FaultRequest = {
  ...{ verb: 'update', group: 'apps', resource: 'deployments', subresource: '', namespace: 'shop', name: 'web' },
  ...{ user: 'u', userAgent: 'operator/1.0', isOwn: false, isUpgrade: false },
};

t.test('rules match requests', async (t) => {
  const status = { ...update, subresource: 'status' };
  const own = { ...update, isOwn: true, user: 'system:node:a' };
  const cases: readonly (readonly [match: object, request: FaultRequest, matches: boolean])[] = [
    [{}, update, true],
    [{ verbs: ['update', 'patch'] }, update, true],
    [{ verbs: ['get'] }, update, false],
    [{ resources: ['deployments'] }, update, true],
    [{ resources: ['deployments.apps'] }, update, true],
    [{ resources: ['*.apps'] }, update, true],
    [{ resources: ['pods', '*'] }, status, true],
    [{ resources: ['deployments'] }, status, false],
    [{ resources: ['deployments/status'] }, status, true],
    [{ resources: ['deployments/*'] }, status, true],
    [{ namespace: 'sh*', name: 'web' }, update, true],
    [{ namespace: 'other' }, update, false],
    [{ userAgent: 'operator/*', user: 'u' }, update, true],
    [{ userAgent: 'kubectl*' }, update, false],
    [{}, own, false],
    [{ user: '*' }, own, false],
    [{ user: 'system:node:*' }, own, true],
  ];
  for (const [match, request, matches] of cases) {
    const decider = new FaultDecider(parseFaultPlan([{ match, answer: 500 }]), seededRandom);
    t.equal(decider.decide(request) !== undefined, matches, JSON.stringify(match));
  }
});

t.test('the same seed and order of requests repeats the faults', async (t) => {
  const plan = (seed: number) =>
    parseFaultPlan({
      seed,
      rules: [
        { share: 0.4, skip: 3, count: 20, answer: 409 },
        { share: 0.5, latency: '1s' },
      ],
    });
  const run = (seed: number, between: boolean) => {
    const decider = new FaultDecider(plan(seed), seededRandom);
    return Array.from({ length: 100 }, () => {
      if (between) decider.decide({ ...update, isOwn: true });
      return decider.decide(update)?.name ?? '';
    });
  };
  t.same(run(1, false), run(1, false));
  t.same(run(1, false), run(1, true), 'requests that no rule matches change nothing');
  t.notSame(run(1, false), run(2, false));
  const decider = new FaultDecider(plan(1), seededRandom);
  for (let i = 0; i < 100; i++) decider.decide(update);
  t.match(decider.counts(), [{ name: 'rule-1', injected: 20 }, { name: 'rule-2' }]);
  const early = new FaultDecider(plan(1), seededRandom);
  t.same(
    [1, 2, 3].map(() => early.decide(update)?.name === 'rule-1'),
    [false, false, false],
    'three are skipped',
  );
});

t.test('faults of a plan name the field', async (t) => {
  const cases: readonly (readonly [plan: unknown, message: string])[] = [
    ['rules: 1', 'rules: not a list'],
    [{ rule: [] }, 'the plan.rule: unknown field'],
    [[{}], 'rules[0]: does nothing; give answer, reset, watch, stream or latency'],
    [[{ answer: 418 }], 'rules[0].answer.code: 418 is none of 409, 410, 429, 500, 503, 504'],
    [[{ answer: 500, reset: true }], 'rules[0]: has answer and reset; a rule has one of them'],
    [[{ answer: 500, share: 2 }], 'rules[0].share: not a number from 0 to 1'],
    [
      [{ latency: 'soon' }],
      'rules[0].latency: not a duration such as 1.5s, of at most an hour\nrules[0]: does nothing; give answer, reset, watch, stream or latency',
    ],
    [
      [{ match: { verbs: ['write'], nam: 1 }, answer: 500 }],
      'rules[0].match.nam: unknown field\nrules[0].match.verbs: "write" is none of get, list, watch, create, update, patch, delete, deletecollection',
    ],
    [[{ watch: {} }], 'rules[0].watch: does nothing; give cutAfterEvents, cutAfter, expired, dropBookmarks or delay'],
    [
      [{ match: { verbs: ['get'] }, watch: { expired: true } }],
      'rules[0].match.verbs: watch faults are only of the verb watch',
    ],
    [
      { seed: -1, rules: [{ reset: { when: 1 } }] },
      'seed: not a whole number from 0 to 4294967295\nrules[0].reset.when: unknown field',
    ],
  ];
  for (const [plan, message] of cases)
    t.throws(() => parseFaultPlan(plan), new FaultPlanError(message), JSON.stringify(plan));
});

t.test("the cluster's own daemons are known by their users", async (t) => {
  for (const user of ['system:apiserver', 'system:node:a', 'system:serviceaccount:orch-system:job-controller'])
    t.ok(isOwnUser(user, orchDialect), user);
  for (const user of ['orch-admin', 'system:serviceaccount:shop:operator']) t.notOk(isOwnUser(user, orchDialect), user);
});

const line = (type: string, name = 'a') => `${JSON.stringify({ type, object: { metadata: { name } } })}\n`;

t.test('events are split however their bytes arrive', async (t) => {
  const json = Buffer.from([line('ADDED'), line('BOOKMARK'), line('DELETED')].join(''));
  const object = Buffer.from('object');
  const frames = Buffer.concat(['ADDED', 'BOOKMARK', 'DELETED'].map((type) => encodeWatchFrame(type, object)));
  for (const [format, bytes] of [
    ['json', json],
    ['protobuf', frames],
  ] as const) {
    for (const size of [1, 7, 1000]) {
      const splitter = new EventSplitter(format);
      const events = [];
      for (let at = 0; at < bytes.length; at += size) events.push(...splitter.push(bytes.subarray(at, at + size)));
      t.same(
        events.map(({ isBookmark }) => isBookmark),
        [false, true, false],
        `${format} by ${size}`,
      );
      t.same(Buffer.concat(events.map((event) => event.bytes)), bytes, `${format} by ${size}`);
    }
  }
});

t.test('watches are cut, expire, lose bookmarks and are late', async (t) => {
  const none: WatchFaults = {
    ...{ kind: 'watch', cutAfterEvents: undefined, cutAfterMs: undefined },
    ...{ expired: false, dropBookmarks: false, delayMs: 0 },
  };
  const clock = new VirtualClock();
  const read = async (faults: Partial<WatchFaults>, ms = 0) => {
    async function* source() {
      for (const type of ['ADDED', 'BOOKMARK', 'MODIFIED', 'DELETED']) yield Buffer.from(line(type));
    }
    const body = new FaultyWatchBody(new IterableBody(source()), {
      faults: { ...none, ...faults },
      format: 'json',
      clock,
    });
    const types: string[] = [];
    const over = (async () => {
      for await (const bytes of body) types.push((JSON.parse(String(bytes)) as { type: string }).type);
    })();
    await clock.advance(ms);
    await over;
    return types;
  };
  t.same(await read({}), ['ADDED', 'BOOKMARK', 'MODIFIED', 'DELETED']);
  t.same(await read({ dropBookmarks: true }), ['ADDED', 'MODIFIED', 'DELETED']);
  t.same(await read({ cutAfterEvents: 2 }), ['ADDED', 'BOOKMARK']);
  t.same(await read({ cutAfterEvents: 1, expired: true }), ['ADDED', 'ERROR']);
  t.same(await read({ expired: true }), ['ERROR']);
  t.same(await read({ delayMs: 1000 }, 1000), ['ADDED', 'BOOKMARK', 'MODIFIED', 'DELETED']);
  t.same(await read({ delayMs: 1000, cutAfterMs: 500 }, 500), []);
});

t.test('a cluster answers with faults and counts them', async (t) => {
  const world = new OperatorWorld();
  await world.start();
  t.teardown(() => world.close());
  const scene = await world.scene('faulty');
  const maps = scene.operator.resource(configmaps);
  const where = { namespace: scene.namespace };
  const statusOf = async (work: Promise<unknown>) => {
    try {
      await work;
      return 200;
    } catch (error) {
      return (error as { status?: { code?: number } }).status?.code ?? (error as Error).message;
    }
  };
  for (const code of [409, 410, 500, 504]) {
    await scene.faults([{ answer: code, count: 1 }]);
    t.equal(await statusOf(maps.list(where)), code);
    t.equal(await statusOf(maps.list(where)), 200);
  }
  for (const code of [429, 503]) {
    await scene.faults([{ name: 'busy', answer: { code, retryAfter: '3s' }, count: 1 }]);
    const before = scene.clock.now();
    t.equal(await statusOf(maps.list(where)), 200, 'the client tries again');
    t.ok(scene.clock.now() - before >= 3000, 'after the time that the server said');
  }
  await scene.faults([{ match: { verbs: ['create'] }, answer: { code: 500, applied: true } }]);
  t.equal(await statusOf(maps.create({ metadata: { name: 'lost', ...where } })), 500);
  await scene.faults([{ match: { verbs: ['get'] }, reset: true, count: 1 }]);
  t.match(await statusOf(maps.get('lost', where)), /reset/);
  t.equal(await statusOf(maps.get('lost', where)), 200, 'it was created');
  t.match(await scene.suite.request('GET', '/test/faults'), { seed: 7, rules: [{ matched: 1, injected: 1 }] });
  t.equal(await statusOf(scene.suite.request('POST', '/test/faults', [{}])), 400);
  await scene.suite.request('DELETE', '/test/faults');
  t.match(await scene.suite.request('GET', '/test/faults'), { rules: [] });
  t.equal(await statusOf(scene.suite.request('POST', '/test/actions', { action: 'kill-node', node: 'none' })), 400);
});
