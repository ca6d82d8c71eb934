/** Plans the status of a disruption budget. Pure. */
import { isPodReady } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { allowance } from '#api/policy/v1/poddisruptionbudget/disruption.js';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '#api/policy/v1/types.gen.js';
import { parseTime } from '#apimachinery/clock.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { scaledValue } from '#apimachinery/intstr.js';

/** The time after which a granted eviction counts as failed, as in 1.24. */
const deletionTimeoutMs = 120_000;

export interface BudgetObservation {
  readonly budget: PodDisruptionBudget;
  /** All pods that the budget selects. */
  readonly pods: readonly Pod[];
  /** The total of desired replicas of the pods' managers; used if `needsScale`. */
  readonly expectedScale: number;
}

export interface BudgetPlan {
  /** The new status; undefined when unchanged. */
  readonly status?: PodDisruptionBudgetStatus;
  /** Pods that still exist after a granted eviction timed out. */
  readonly notDeleted: readonly Pod[];
  /** When the next granted eviction times out. */
  readonly requeueAfterMs?: number;
}

/** Whether the budget refers to desired replicas rather than existing pods. */
export function needsScale({ spec }: PodDisruptionBudget): boolean {
  return spec.maxUnavailable !== undefined || typeof spec.minAvailable === 'string';
}

/** Throws a RangeError for a malformed number in the budget. */
export function planBudget(observation: BudgetObservation, now: number): BudgetPlan {
  const { budget, pods } = observation;
  const { disruptedPods, notDeleted, nextMs } = pendingEvictions(budget, pods, now);
  const { expectedPods, desiredHealthy } = requirements(observation);
  const currentHealthy = pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined &&
      disruptedPods[pod.metadata.name ?? ''] === undefined &&
      isPodReady(pod),
  ).length;
  // Without expected pods, allow no eviction until new pods have been counted.
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const counts = { expectedPods, desiredHealthy, currentHealthy, disruptionsAllowed };
  const status = withCounts(budget, { ...counts, disruptedPods }, now);
  return {
    ...(status === undefined ? {} : { status }),
    notDeleted,
    ...(nextMs === undefined ? {} : { requeueAfterMs: nextMs - now }),
  };
}

function requirements({ budget, pods, expectedScale }: BudgetObservation): {
  expectedPods: number;
  desiredHealthy: number;
} {
  const { maxUnavailable, minAvailable } = budget.spec;
  if (maxUnavailable !== undefined) {
    const unavailable = scaledValue(maxUnavailable, expectedScale, 'up');
    return { expectedPods: expectedScale, desiredHealthy: Math.max(0, expectedScale - unavailable) };
  }
  if (typeof minAvailable === 'number') return { expectedPods: pods.length, desiredHealthy: minAvailable };
  if (minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0 };
  return { expectedPods: expectedScale, desiredHealthy: scaledValue(minAvailable, expectedScale, 'up') };
}

/** Granted evictions of existing pods that are not being deleted and have not timed out. */
function pendingEvictions(budget: PodDisruptionBudget, pods: readonly Pod[], now: number) {
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
  // One millisecond after the timeout.
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

/** Omitted maps and generations equal empty ones and zero. */
function filled(status: PodDisruptionBudgetStatus | undefined): object {
  return { ...status, observedGeneration: status?.observedGeneration ?? 0, disruptedPods: status?.disruptedPods ?? {} };
}

/** A budget that cannot be computed allows no disruptions. */
export function failedStatus(budget: PodDisruptionBudget, message: string, now: number): PodDisruptionBudgetStatus {
  const none = { expectedPods: 0, desiredHealthy: 0, currentHealthy: 0 };
  const status = { ...none, ...budget.status, disruptionsAllowed: 0 };
  return allowance(status, now, { reason: 'SyncFailed', message });
}
