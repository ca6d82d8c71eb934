/** What a disruption budget's status says. Pure. */
import { isPodReady } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { allowance } from '#api/policy/v1/poddisruptionbudget/disruption.js';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '#api/policy/v1/types.gen.js';
import { parseTime } from '#apimachinery/clock.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { scaledValue } from '#apimachinery/intstr.js';

/** How long an eviction that was granted may take before it is taken as not happening: 1.24's figure. */
const deletionTimeoutMs = 120_000;

export interface BudgetObservation {
  readonly budget: PodDisruptionBudget;
  /** All pods that the budget selects. */
  readonly pods: readonly Pod[];
  /** How many pods those who manage them want together; asked for by some forms of budgets only. */
  readonly expectedScale: number;
}

export interface BudgetPlan {
  /** The status that is to be written; undefined when it says all this already. */
  readonly status?: PodDisruptionBudgetStatus;
  /** Pods whose eviction was granted, and which are there still. */
  readonly notDeleted: readonly Pod[];
  /** When the first of the other evictions runs out of time. */
  readonly requeueAfterMs?: number;
}

/** Whether the budget's numbers are of what is wanted, and not of what is there. */
export function needsScale({ spec }: PodDisruptionBudget): boolean {
  return spec.maxUnavailable !== undefined || typeof spec.minAvailable === 'string';
}

/** `now` in milliseconds. Throws a RangeError for a number that is none. */
export function planBudget(observation: BudgetObservation, now: number): BudgetPlan {
  const { budget, pods } = observation;
  const { disruptedPods, notDeleted, nextMs } = granted(budget, pods, now);
  const { expectedPods, desiredHealthy } = wanted(observation);
  const currentHealthy = pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined &&
      disruptedPods[pod.metadata.name ?? ''] === undefined &&
      isPodReady(pod),
  ).length;
  // Where no pod is expected, the first ones to come are safe until they have been looked at.
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const counts = { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed };
  const status = withCounts(budget, { ...counts, disruptedPods }, now);
  return {
    ...(status === undefined ? {} : { status }),
    notDeleted,
    ...(nextMs === undefined ? {} : { requeueAfterMs: nextMs - now }),
  };
}

function wanted({ budget, pods, expectedScale }: BudgetObservation): { expectedPods: number; desiredHealthy: number } {
  const { maxUnavailable, minAvailable } = budget.spec;
  if (maxUnavailable !== undefined) {
    const unavailable = scaledValue(maxUnavailable, expectedScale, 'up');
    return { expectedPods: expectedScale, desiredHealthy: Math.max(0, expectedScale - unavailable) };
  }
  if (typeof minAvailable === 'number') return { expectedPods: pods.length, desiredHealthy: minAvailable };
  if (minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0 };
  return { expectedPods: expectedScale, desiredHealthy: scaledValue(minAvailable, expectedScale, 'up') };
}

/** The evictions that are still awaited: of pods that are there, do not go yet, and have time left. */
function granted(budget: PodDisruptionBudget, pods: readonly Pod[], now: number) {
  const before = budget.status?.disruptedPods ?? {};
  const disruptedPods: Record<string, string> = {};
  const notDeleted: Pod[] = [];
  let nextMs: number | undefined;
  for (const pod of pods) {
    const name = pod.metadata.name ?? '';
    const since = Object.hasOwn(before, name) ? before[name] : undefined;
    if (since === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    const untilMs = parseTime(since) + deletionTimeoutMs;
    if (untilMs < now) notDeleted.push(pod);
    else {
      disruptedPods[name] = since;
      nextMs = Math.min(nextMs ?? untilMs, untilMs);
    }
  }
  // Only when its time is over, and not at the very instant.
  return { disruptedPods, notDeleted, nextMs: nextMs === undefined ? undefined : nextMs + 1 };
}

function withCounts(
  budget: PodDisruptionBudget,
  counts: Omit<PodDisruptionBudgetStatus, 'conditions' | 'observedGeneration'>,
  now: number,
): PodDisruptionBudgetStatus | undefined {
  const { conditions } = budget.status ?? {};
  const observedGeneration = budget.metadata.generation ?? 0;
  const status = allowance({ ...counts, observedGeneration, ...(conditions === undefined ? {} : { conditions }) }, now);
  return semanticEqual(filled(budget.status), filled(status)) ? undefined : status;
}

/** Empty maps and zero generations are left out on the wire. */
function filled(status: PodDisruptionBudgetStatus | undefined): object {
  return { ...status, observedGeneration: status?.observedGeneration ?? 0, disruptedPods: status?.disruptedPods ?? {} };
}

/** A budget that cannot be reckoned allows nothing. `now` in milliseconds. */
export function failedStatus(budget: PodDisruptionBudget, message: string, now: number): PodDisruptionBudgetStatus {
  const none = { expectedPods: 0, desiredHealthy: 0, currentHealthy: 0 };
  const status = { ...none, ...budget.status, disruptionsAllowed: 0 };
  return allowance(status, now, { reason: 'SyncFailed', message });
}
