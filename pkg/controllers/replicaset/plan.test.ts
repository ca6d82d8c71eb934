import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { burstReplicas, nextAvailableMs, planReplicas, planStatus } from '#controllers/replicaset/plan.js';
import { plainRanking, podsToDelete, defaultRanking as ranking } from '#controllers/replicaset/ranking.js';
import type { Replicated } from '#controllers/replicaset/replicated-kinds.js';

const now = Date.parse('2022-05-03T12:00:00Z');
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();

interface Traits {
  node?: string;
  phase?: string;
  readySince?: number;
  cost?: string;
  restarts?: number;
  age?: number;
}

function pod(name: string, traits: Traits): Pod {
  const { node, phase = 'Running', readySince, cost, restarts, age = 1000 } = traits;
  return {
    metadata: {
      name,
      uid: name,
      creationTimestamp: ago(age),
      labels: { app: 'web' },
      ...(cost === undefined ? {} : { annotations: { [dialect.annotations.podDeletionCost]: cost } }),
    },
    spec: { containers: [], ...(node === undefined ? {} : { nodeName: node }) },
    status: {
      phase,
      ...(readySince === undefined
        ? {}
        : { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: ago(readySince) }] }),
      ...(restarts === undefined
        ? {}
        : { containerStatuses: [{ name: 'c', ready: true, restartCount: restarts, image: '', imageID: '' }] }),
    },
  };
}

t.test('the pod with the lowest rank is deleted first', (t) => {
  const good: Traits = { node: 'n1', readySince: 500, restarts: 0 };
  const rows: [string, Traits, Traits][] = [
    ['not bound', { phase: 'Pending' }, good],
    ['pending', { ...good, phase: 'Pending' }, good],
    ['unknown before running', { ...good, phase: 'Unknown' }, good],
    ['pending before unknown', { ...good, phase: 'Pending' }, { ...good, phase: 'Unknown' }],
    ['not ready', { node: 'n1' }, good],
    ['lower cost', { ...good, cost: '-5' }, good],
    ['lower cost even when ready for longer', { ...good, cost: '1', readySince: 900 }, { ...good, cost: '2' }],
    ['a malformed cost counts as zero', { ...good, cost: '+7x', readySince: 1 }, { ...good, cost: '0' }],
    ['ready for much shorter', { ...good, readySince: 10 }, good],
    ['more restarts', { ...good, restarts: 3 }, good],
    ['much younger', { ...good, age: 600 }, { ...good, age: 60_000 }],
  ];
  for (const [name, first, second] of rows) {
    const pods = [pod('second', second), pod('first', first)];
    t.same(
      podsToDelete(pods, { dialect, count: 1, now, ranking }).map((each) => each.metadata.name),
      ['first'],
      name,
    );
  }
  t.end();
});

t.test('pods that share their node with related pods are deleted first', (t) => {
  const traits: Traits = { readySince: 500 };
  const pods = [pod('lonely', { ...traits, node: 'n1' }), pod('crowded', { ...traits, node: 'n2' })];
  const related = [...pods, pod('sibling', { ...traits, node: 'n2' })];
  t.equal(podsToDelete(pods, { dialect, related, count: 1, now, ranking })[0]?.metadata.name, 'crowded');
  t.equal(podsToDelete(pods, { dialect, related, count: 5, now, ranking }).length, 2);
  t.end();
});

t.test('the UID decides between similar ages', (t) => {
  const a = pod('a', { node: 'n1', readySince: 600 });
  const b = pod('b', { node: 'n1', readySince: 601 });
  t.equal(podsToDelete([b, a], { dialect, count: 1, now, ranking })[0], a);
  const c = pod('c', { node: 'n1', readySince: 600 });
  t.equal(podsToDelete([c, b], { dialect, count: 1, now, ranking })[0], b, 'the UID decides');
  t.end();
});

t.test('with the gates off, times are compared exactly and costs do not count', (t) => {
  const choose = (a: Traits, b: Traits, of: typeof ranking) =>
    podsToDelete([pod('a', a), pod('b', b)], { dialect, count: 1, now, ranking: of })[0]?.metadata.name;
  const exact = { costs: true, logarithmic: false };
  const node = 'n1';
  t.equal(choose({ node, readySince: 600 }, { node, readySince: 601 }, ranking), 'a', 'the UID decides');
  t.equal(choose({ node, readySince: 601 }, { node, readySince: 600 }, exact), 'b', 'ready for less time');
  t.equal(choose({ node, age: 600 }, { node, age: 599 }, exact), 'b', 'younger');
  t.equal(choose({ node, cost: '5' }, { node, cost: '-5' }, exact), 'b', 'costs less');
  t.equal(
    choose({ node, cost: '5', age: 10 }, { node, cost: '-5', age: 20 }, plainRanking),
    'a',
    'younger in spite of the cost',
  );
  t.end();
});

function set(replicas: number | undefined, more: Partial<Replicated> = {}): Replicated {
  return {
    metadata: { name: 's', generation: 2 },
    spec: {
      ...(replicas === undefined ? {} : { replicas }),
      template: { metadata: { labels: { app: 'web' } } },
    },
    ...more,
  };
}

const many = (count: number) => Array.from({ length: count }, (_, i) => pod(`p${i}`, { node: 'n1' }));

t.test('the plan creates or deletes the difference', (t) => {
  const rows: [string, Replicated, number, unknown][] = [
    ['enough', set(3), 3, []],
    ['one by default', set(undefined), 0, [{ kind: 'create', count: 1 }]],
    ['too few', set(3), 1, [{ kind: 'create', count: 2 }]],
    ['far too few', set(2000), 0, [{ kind: 'create', count: burstReplicas }]],
    ['too many', set(1), 3, [{ kind: 'delete', pods: { length: 2 } }]],
    ['none desired', set(0), 2, [{ kind: 'delete', pods: { length: 2 } }]],
    ['far too many', set(0), 700, [{ kind: 'delete', pods: { length: burstReplicas } }]],
    ['being deleted', set(3, { metadata: { deletionTimestamp: ago(1) } }), 1, []],
  ];
  for (const [name, owner, count, want] of rows) {
    const pods = many(count);
    t.match(planReplicas({ dialect, set: owner, pods, relatedPods: () => pods, ranking }, now), want as object, name);
  }
  t.end();
});

t.test('the status counts pods and keeps the first failure', (t) => {
  const ready = pod('r', { node: 'n1', readySince: 60 });
  const other: Pod = { ...pod('o', { node: 'n1' }), metadata: { labels: { app: 'web2' } } };
  const status = planStatus(set(2), [ready, other], { managed: true }, now);
  t.strictSame(status, {
    replicas: 2,
    fullyLabeledReplicas: 1,
    readyReplicas: 1,
    availableReplicas: 1,
    observedGeneration: 2,
  });
  t.equal(
    planStatus(
      set(2, {
        status: { replicas: 2, fullyLabeledReplicas: 1, readyReplicas: 1, availableReplicas: 1, observedGeneration: 2 },
      }),
      [ready, other],
      { managed: true },
      now,
    ),
    undefined,
  );
  const failure = { reason: 'FailedCreate', message: 'quota' } as const;
  const failed = planStatus(set(2), [], { managed: true, failure }, now);
  t.match(failed?.conditions, [{ type: 'ReplicaFailure', status: 'True', ...failure }]);
  const failing = set(2, { status: { ...failed, replicas: 0 } });
  t.equal(
    planStatus(failing, [], { managed: true, failure: { ...failure, message: 'other' } }, now),
    undefined,
    'the failure is recorded once',
  );
  t.equal(planStatus(failing, [], { managed: false }, now), undefined, 'the failure stays while nothing is attempted');
  t.notOk(planStatus(failing, [], { managed: true }, now)?.conditions, 'the failure is removed after a success');
  t.end();
});

t.test('the next reconcile is when a ready pod becomes available', (t) => {
  const owner = set(2, { spec: { minReadySeconds: 30 } });
  const pods = [pod('a', { readySince: 10 }), pod('b', { readySince: 20 }), pod('c', { readySince: 40 }), pod('d', {})];
  t.equal(nextAvailableMs(owner, pods, now), 10_001);
  t.equal(nextAvailableMs(owner, [], now), undefined);
  t.equal(nextAvailableMs(set(2), pods, now), undefined);
  t.end();
});
