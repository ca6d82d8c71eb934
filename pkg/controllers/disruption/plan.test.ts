import t from 'tap';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { PodDisruptionBudget, PodDisruptionBudgetSpec } from '#api/policy/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import type { Draft } from '#apimachinery/draft.js';
import { failedStatus, needsScale, planBudget } from '#controllers/disruption/plan.js';

const now = Date.parse('2022-05-03T12:00:00Z');
const ago = (seconds: number) => formatTime(now - seconds * 1000);

function pods(count: number, ready = count): Draft<Pod>[] {
  return Array.from({ length: count }, (_, i) => ({
    metadata: { name: `p${i}`, namespace: 'default' },
    spec: { containers: [] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: i < ready ? 'True' : 'False' }] },
  }));
}

function budget(spec: Partial<PodDisruptionBudgetSpec>, disruptedPods?: Record<string, string>): PodDisruptionBudget {
  const counts = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  return {
    metadata: { name: 'b', namespace: 'default', generation: 3 },
    spec,
    ...(disruptedPods === undefined ? {} : { status: { ...counts, disruptedPods } }),
  };
}

t.test('budgets allow disruptions while enough pods are healthy', (t) => {
  type Counts = [expected: number, desired: number, healthy: number, allowed: number];
  const rows: [name: string, spec: Partial<PodDisruptionBudgetSpec>, pods: Pod[], scale: number, counts: Counts][] = [
    ['a number that must be available', { minAvailable: 2 }, pods(3), 9, [3, 2, 3, 1]],
    ['a number that is not reached', { minAvailable: 2 }, pods(3, 1), 9, [3, 2, 1, 0]],
    ['a share that must be available', { minAvailable: '50%' }, pods(3), 5, [5, 3, 3, 0]],
    ['a share, all pods are healthy', { minAvailable: '50%' }, pods(5), 5, [5, 3, 5, 2]],
    ['a number that may be missing', { maxUnavailable: 1 }, pods(4), 4, [4, 3, 4, 1]],
    ['a number that is missing already', { maxUnavailable: 1 }, pods(4, 3), 4, [4, 3, 3, 0]],
    ['a share that may be missing, rounded up', { maxUnavailable: '30%' }, pods(4), 4, [4, 2, 4, 2]],
    ['all may be missing', { maxUnavailable: '100%' }, pods(4), 4, [4, 0, 4, 4]],
    ['more pods may be missing than exist', { maxUnavailable: 9 }, pods(2), 2, [2, 0, 2, 2]],
    ['empty spec', {}, pods(2), 2, [0, 0, 2, 0]],
    ['no pods', { minAvailable: 0 }, [], 0, [0, 0, 0, 0]],
    ['no pods desired', { maxUnavailable: 1 }, pods(1), 0, [0, 0, 1, 0]],
  ];
  for (const [name, spec, given, expectedScale, counts] of rows) {
    const [expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed] = counts;
    const { status } = planBudget({ budget: budget(spec), pods: given, expectedScale }, now);
    t.match(status, { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed, observedGeneration: 3 }, name);
    const reason = disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods';
    const condition = { type: 'DisruptionAllowed', status: disruptionsAllowed > 0 ? 'True' : 'False', reason };
    t.match(
      status?.conditions,
      [{ ...condition, observedGeneration: 3, message: '', lastTransitionTime: ago(0) }],
      name,
    );
  }
  t.same(
    [{ minAvailable: 1 }, { minAvailable: '1%' }, { maxUnavailable: 1 }, { maxUnavailable: '1%' }, {}].map((spec) =>
      needsScale(budget(spec)),
    ),
    [false, true, true, true, false],
  );
  t.throws(() => planBudget({ budget: budget({ minAvailable: 'x' }), pods: [], expectedScale: 0 }, now), RangeError);
  t.end();
});

t.test('granted evictions count until they end or time out', (t) => {
  const given = pods(4);
  const [, , , going] = given;
  if (going !== undefined) going.metadata.deletionTimestamp = ago(1);
  const disrupted = { p0: ago(30), p1: ago(121), p3: ago(5), gone: ago(5) };
  const plan = planBudget({ budget: budget({ minAvailable: 1 }, disrupted), pods: given, expectedScale: 0 }, now);
  t.match(plan.status, { disruptedPods: { p0: ago(30) }, currentHealthy: 2, disruptionsAllowed: 1 });
  t.same(Object.keys(plan.status?.disruptedPods ?? {}), ['p0'], 'without pods in deletion or deleted');
  t.same(
    plan.notDeleted.map(({ metadata }) => metadata.name),
    ['p1'],
    'a pod counts as healthy again after the timeout',
  );
  t.equal(plan.requeueAfterMs, 90_001);
  t.end();
});

t.test('an unchanged status is not written', (t) => {
  const given = budget({ minAvailable: 1 });
  const observed = { pods: pods(2), expectedScale: 0 };
  const { status } = planBudget({ budget: given, ...observed }, now);
  // Empty maps are omitted on the wire.
  const { disruptedPods: _, ...stored } = status ?? {
    disruptionsAllowed: 0,
    currentHealthy: 0,
    desiredHealthy: 0,
    expectedPods: 0,
  };
  t.same(planBudget({ budget: { ...given, status: stored }, ...observed }, now + 60_000), { notDeleted: [] });
  const changed = { ...given, metadata: { ...given.metadata, generation: 4 }, status: stored };
  t.match(planBudget({ budget: changed, ...observed }, now).status, { observedGeneration: 4 });
  t.end();
});

t.test('a budget that cannot be computed allows nothing', (t) => {
  const disrupted = budget({ maxUnavailable: 1 }, { p0: ago(1) });
  if (disrupted.status !== undefined) Object.assign(disrupted.status, { disruptionsAllowed: 3, observedGeneration: 2 });
  t.match(failedStatus(disrupted, 'why', now), {
    disruptionsAllowed: 0,
    observedGeneration: 2,
    disruptedPods: { p0: ago(1) },
    conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'why' }],
  });
  t.end();
});
