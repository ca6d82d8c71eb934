/** The conditions of a deployment's status. Pure. */

import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from '#api/apps/v1/types.gen.js';
import { formatTime, parseTime } from '#apimachinery/clock.js';
import type { Replaceable } from '#apimachinery/draft.js';
import { replicasOf } from '#controllers/deployment/replica-counts.js';

/** `progressDeadlineSeconds` that means no deadline. */
const noDeadlineSeconds = 2 ** 31 - 1;

export function hasProgressDeadline(deployment: Deployment): boolean {
  const seconds = deployment.spec.progressDeadlineSeconds;
  return seconds !== undefined && seconds !== noDeadlineSeconds;
}

export type Conditions = readonly DeploymentCondition[];

export function condition(
  conditions: Conditions | undefined,
  type: DeploymentCondition['type'],
): DeploymentCondition | undefined {
  return conditions?.find((each) => each.type === type);
}

export function makeCondition(
  type: 'Available' | 'Progressing' | 'ReplicaFailure',
  status: string,
  reason: string,
  message: string,
  now: number,
): DeploymentCondition {
  const time = formatTime(now);
  return { type, status, lastUpdateTime: time, lastTransitionTime: time, reason, message };
}

/** Replaces a condition unless status and reason are the same; an unchanged status keeps its transition time. */
export function withCondition(conditions: Conditions, next: DeploymentCondition): Conditions {
  const current = condition(conditions, next.type);
  if (current?.status === next.status && current.reason === next.reason) return conditions;
  const replacement =
    current?.status === next.status && current.lastTransitionTime !== undefined
      ? { ...next, lastTransitionTime: current.lastTransitionTime }
      : next;
  return [...withoutCondition(conditions, next.type), replacement];
}

function withoutCondition(conditions: Conditions, type: string): Conditions {
  return conditions.filter((each) => each.type !== type);
}

/** Whether all pods have the newest template and are available, and no old pods are left. */
export function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const desired = replicasOf(deployment);
  return (
    (status.updatedReplicas ?? 0) === desired &&
    (status.replicas ?? 0) === desired &&
    (status.availableReplicas ?? 0) === desired &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

/** Whether there are more updated, ready or available pods than before, or fewer old pods. */
function isProgressing(deployment: Deployment, status: DeploymentStatus): boolean {
  const old = deployment.status ?? {};
  const oldPods = (s: DeploymentStatus) => (s.replicas ?? 0) - (s.updatedReplicas ?? 0);
  return (
    (status.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    oldPods(status) < oldPods(old) ||
    (status.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (status.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  );
}

/** The progress deadline in milliseconds since the epoch; undefined when none applies. */
export function deadlineAt(deployment: Deployment, conditions: Conditions | undefined): number | undefined {
  const current = condition(conditions, 'Progressing');
  if (!hasProgressDeadline(deployment) || current?.lastUpdateTime === undefined) return undefined;
  if (current.reason === 'NewReplicaSetAvailable' || current.reason === 'ProgressDeadlineExceeded') return undefined;
  return parseTime(current.lastUpdateTime) + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000;
}

/** Updates Progressing after a rollout step. `status` has the new counts. */
export function progressCondition(
  deployment: Deployment,
  status: DeploymentStatus,
  conditions: Conditions,
  newest: ReplicaSet | undefined,
  now: number,
): Conditions {
  if (!hasProgressDeadline(deployment)) return withoutCondition(conditions, 'Progressing');
  const current = condition(deployment.status?.conditions, 'Progressing');
  const finished = status.replicas === status.updatedReplicas && current?.reason === 'NewReplicaSetAvailable';
  if (finished) return conditions;
  const subject =
    newest === undefined ? `Deployment "${deployment.metadata.name}"` : `ReplicaSet "${newest.metadata.name}"`;
  if (isComplete(deployment, status)) {
    const message = `${subject} has successfully progressed.`;
    return withCondition(conditions, makeCondition('Progressing', 'True', 'NewReplicaSetAvailable', message, now));
  }
  if (isProgressing(deployment, status)) {
    const next: Replaceable<DeploymentCondition> = makeCondition(
      'Progressing',
      'True',
      'ReplicaSetUpdated',
      `${subject} is progressing.`,
      now,
    );
    if (current?.status === 'True' && current.lastTransitionTime !== undefined) {
      next.lastTransitionTime = current.lastTransitionTime;
    }
    // Replace it even when status and reason are the same: the deadline counts from the update time.
    return [...withoutCondition(conditions, 'Progressing'), next];
  }
  const deadlineMs = deadlineAt(deployment, conditions);
  if (deadlineMs === undefined || deadlineMs >= now) return conditions;
  const message = `${subject} has timed out progressing.`;
  return withCondition(conditions, makeCondition('Progressing', 'False', 'ProgressDeadlineExceeded', message, now));
}

/** Updates Progressing when the deployment was paused or resumed. */
export function pauseCondition(deployment: Deployment, conditions: Conditions, now: number): Conditions {
  if (!hasProgressDeadline(deployment)) return conditions;
  const current = condition(conditions, 'Progressing');
  if (current?.reason === 'ProgressDeadlineExceeded') return conditions;
  const wasPaused = current?.reason === 'DeploymentPaused';
  const paused = deployment.spec.paused === true;
  if (paused === wasPaused) return conditions;
  const [reason, message] = paused
    ? ['DeploymentPaused', 'Deployment is paused']
    : ['DeploymentResumed', 'Deployment is resumed'];
  return withCondition(conditions, makeCondition('Progressing', 'Unknown', reason ?? '', message ?? '', now));
}

/** Copies the ReplicaFailure condition of the newest set, or of any other set. */
export function failureCondition(
  conditions: Conditions,
  newest: ReplicaSet | undefined,
  sets: readonly ReplicaSet[],
): Conditions {
  const failureOf = (set: ReplicaSet | undefined) =>
    set?.status?.conditions?.find((each) => each.type === 'ReplicaFailure');
  const failure = failureOf(newest) ?? sets.map(failureOf).find((each) => each !== undefined);
  if (failure === undefined) return withoutCondition(conditions, 'ReplicaFailure');
  const { lastTransitionTime } = failure;
  return withCondition(conditions, {
    ...failure,
    ...(lastTransitionTime === undefined ? {} : { lastUpdateTime: lastTransitionTime }),
  });
}
