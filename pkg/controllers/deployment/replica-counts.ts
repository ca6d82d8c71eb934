/** Counts of desired, allowed and actual pods. Arithmetic of release 1.24 (deployment_util.go). Pure. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import { scaledValue } from '#apimachinery/intstr.js';

export const replicasOf = (object: Deployment | ReplicaSet): number => object.spec.replicas ?? 1;

export const isRollingUpdate = (deployment: Deployment): boolean => deployment.spec.strategy?.type !== 'Recreate';

/** Surge and unavailability as numbers. If both are zero, one pod may be unavailable, so that updates progress. */
function updateLimits(deployment: Deployment): { surge: number; unavailable: number } {
  const desired = replicasOf(deployment);
  const { maxSurge = '25%', maxUnavailable = '25%' } = deployment.spec.strategy?.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge, desired, 'up');
  const unavailable = scaledValue(maxUnavailable, desired, 'down');
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

export function maxSurge(deployment: Deployment): number {
  return isRollingUpdate(deployment) ? updateLimits(deployment).surge : 0;
}

export function maxUnavailable(deployment: Deployment): number {
  const desired = replicasOf(deployment);
  if (!isRollingUpdate(deployment) || desired === 0) return 0;
  return Math.min(updateLimits(deployment).unavailable, desired);
}

function sum(sets: readonly ReplicaSet[], count: (set: ReplicaSet) => number): number {
  return sets.reduce((total, set) => total + count(set), 0);
}

export const specReplicas = (sets: readonly ReplicaSet[]): number => sum(sets, replicasOf);
export const actualReplicas = (sets: readonly ReplicaSet[]): number => sum(sets, (set) => set.status?.replicas ?? 0);
export const readyReplicas = (sets: readonly ReplicaSet[]): number =>
  sum(sets, (set) => set.status?.readyReplicas ?? 0);
export const availableReplicas = (sets: readonly ReplicaSet[]): number =>
  sum(sets, (set) => set.status?.availableReplicas ?? 0);

/** The size that the strategy allows for the new ReplicaSet. `total` is the sum of all sets' `spec.replicas`. */
export function newReplicaSetSize(deployment: Deployment, total: number, current: number): number {
  const desired = replicasOf(deployment);
  if (!isRollingUpdate(deployment)) return desired;
  const room = desired + maxSurge(deployment) - total;
  return room <= 0 ? current : current + Math.min(room, desired - current);
}
