/** Charges evictions to disruption budgets and computes what a budget allows. */

import { isPodReady } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { setCondition } from '#api/meta/v1/condition/conditions.js';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '#api/policy/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import { StatusError, tooManyRequests } from '#apimachinery/errors/status.js';

/**
 * Maximum number of disrupted pods in a budget's status: 1.24's limit for writers that are faster than its controller.
 */
const maxDisruptedPods = 2000;

/** Pods that are not running are not protected. */
export function isBudgeted(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return phase !== 'Succeeded' && phase !== 'Failed' && phase !== 'Pending' && !pod.metadata.deletionTimestamp;
}

/** True for a pod that has ended or is being deleted: its eviction needs no budget. */
export function isOver(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return phase === 'Succeeded' || phase === 'Failed' || pod.metadata.deletionTimestamp !== undefined;
}

/** True if the pod is not healthy and there are enough healthy pods without it. */
export function costsNothing({ status }: PodDisruptionBudget, pod: Pod): boolean {
  if (status === undefined || isPodReady(pod)) return false;
  return status.currentHealthy >= status.desiredHealthy && status.desiredHealthy > 0;
}

/** The reason why nothing is allowed, other than too few healthy pods. */
export interface BudgetFailure {
  readonly reason: 'SyncFailed';
  readonly message: string;
}

/** The status with the condition for its allowed disruptions. `now` in milliseconds. */
export function allowance(
  status: PodDisruptionBudgetStatus,
  now: number,
  failure?: BudgetFailure,
): PodDisruptionBudgetStatus {
  const allowed = failure === undefined && status.disruptionsAllowed > 0;
  const { observedGeneration } = status;
  const condition = {
    type: 'DisruptionAllowed',
    status: allowed ? 'True' : 'False',
    reason: failure?.reason ?? (allowed ? 'SufficientPods' : 'InsufficientPods'),
    message: failure?.message ?? '',
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    lastTransitionTime: formatTime(now),
  };
  return { ...status, conditions: [...setCondition(status.conditions, condition, formatTime(now))] };
}

/** A copy of the budget, charged for the pod at `now` (ms). Throws 429 if it allows none or its status is outdated. */
export function disrupted(current: PodDisruptionBudget, pod: Pod, now: number): Draft<PodDisruptionBudget> {
  const budget = copyJson(current);
  const name = budget.metadata.name ?? '';
  const { status } = budget;
  if (status === undefined || (status.observedGeneration ?? 0) < (budget.metadata.generation ?? 0)) {
    throw refused(`The disruption budget ${name} is still being processed by the server.`, name, 10);
  }
  const disruptedPods = status.disruptedPods ?? {};
  if (Object.keys(disruptedPods).length > maxDisruptedPods) {
    throw refused('DisruptedPods map too big - too many evictions not confirmed by PDB controller', name, 0);
  }
  if (status.disruptionsAllowed <= 0) {
    const detail = `The disruption budget ${name} needs ${status.desiredHealthy} healthy pods and has ${status.currentHealthy} currently`;
    throw refused(detail, name, 0);
  }
  status.disruptionsAllowed -= 1;
  status.disruptedPods = { ...disruptedPods, [pod.metadata.name ?? '']: formatTime(now) };
  if (status.disruptionsAllowed === 0) budget.status = copyJson(allowance(status, now));
  return budget;
}

/** 429 with the budget's reason as its cause, which clients that drain nodes expect. */
function refused(detail: string, name: string, retryAfterSeconds: number): StatusError {
  const error = tooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfterSeconds);
  const causes = [{ reason: 'DisruptionBudget', message: detail }];
  return new StatusError({
    ...error.status,
    details: { name, causes, ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}) },
  });
}
