import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import { costsNothing, disrupted, isBudgeted, isOver } from '#api/policy/v1/poddisruptionbudget/disruption.js';
import type { PodDisruptionBudget } from '#api/policy/v1/types.gen.js';
import { statusOf as statusIn } from '#apimachinery/errors/status.js';

function statusOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return statusIn(error);
  }
}

const now = Date.parse('2024-05-01T12:00:00Z');

function pod(phase: string, metadata: Pod['metadata'] = {}): Pod {
  return { metadata: { name: 'p', ...metadata }, spec: { containers: [] }, status: { phase } };
}

function budget(status: Partial<NonNullable<PodDisruptionBudget['status']>> = {}): PodDisruptionBudget {
  const counts = { currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 1 };
  return { metadata: { name: 'b', generation: 3 }, spec: {}, status: { ...counts, observedGeneration: 3, ...status } };
}

t.test('only running pods are protected', async (t) => {
  t.ok(isBudgeted(pod('Running')));
  for (const phase of ['Pending', 'Succeeded', 'Failed']) t.notOk(isBudgeted(pod(phase)), phase);
  t.notOk(isBudgeted(pod('Running', { deletionTimestamp: '2024-05-01T11:00:00Z' })));
});

t.test('evictions without disruption', async (t) => {
  t.ok(isOver(pod('Succeeded')) && isOver(pod('Failed')));
  t.ok(isOver(pod('Running', { deletionTimestamp: '2024-05-01T11:00:00Z' })));
  t.notOk(isOver(pod('Pending')), 'a pending pod may run soon');
  const unready = pod('Running');
  const ready = { ...unready, status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
  t.ok(costsNothing(budget(), unready), 'there are enough healthy pods without it');
  t.notOk(costsNothing(budget(), ready));
  t.notOk(costsNothing(budget({ currentHealthy: 0 }), unready), 'too few pods are healthy without it');
  t.notOk(costsNothing(budget({ desiredHealthy: 0 }), unready));
});

t.test('the last disruption leaves none', async (t) => {
  const conditions = (status: object | undefined) => (status as { conditions?: unknown[] } | undefined)?.conditions;
  t.match(conditions(disrupted(budget(), pod('Running'), now).status), [
    { type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods', observedGeneration: 3 },
  ]);
  t.equal(conditions(disrupted(budget({ disruptionsAllowed: 2 }), pod('Running'), now).status), undefined);
});

t.test('a budget is charged one disruption and records the pod', async (t) => {
  const old = budget({ disruptedPods: { q: '2024-05-01T11:59:00Z' } });
  const before = structuredClone(old);
  t.match(disrupted(old, pod('Running'), now).status, {
    disruptionsAllowed: 0,
    disruptedPods: { q: '2024-05-01T11:59:00Z', p: '2024-05-01T12:00:00Z' },
  });
  t.same(old, before, 'the old budget is not modified');
});

t.test('refused evictions', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 2001 }, (_, i) => [`q${i}`, '2024-05-01T11:59:00Z']));
  const rows: [name: string, given: PodDisruptionBudget, message: RegExp, retryAfterSeconds: number | undefined][] = [
    ['it allows none', budget({ disruptionsAllowed: 0 }), /needs 1 healthy pods and has 2 currently/, undefined],
    ['it has changed since it was looked at', budget({ observedGeneration: 2 }), /is still being processed/, 10],
    ['too many are not confirmed', budget({ disruptedPods: many }), /DisruptedPods map too big/, undefined],
  ];
  for (const [name, given, message, retryAfterSeconds] of rows) {
    const details = { name: 'b', causes: [{ reason: 'DisruptionBudget', message }], retryAfterSeconds };
    t.match(
      statusOf(() => disrupted(given, pod('Running'), now)),
      { code: 429, details },
      name,
    );
  }
});
