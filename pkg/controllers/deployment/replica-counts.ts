/** How many pods a deployment wants, may have, and has. Arithmetic of release 1.24 (deployment_util.go). Pure. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import { scaledValue } from '#apimachinery/intstr.js';

export const replicasOf = (object: Deployment | ReplicaSet): number => object.spec.replicas ?? 1;

export const isRollingUpdate = (deployment: Deployment): boolean => deployment.spec.strategy?.type !== 'Recreate';

/** The absolute surge and unavailability; both zero would stand still, so then one may be unavailable. */
function fences(deployment: Deployment): { surge: number; unavailable: number } {
  const wanted = replicasOf(deployment);
  const { maxSurge = '25%', maxUnavailable = '25%' } = deployment.spec.strategy?.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge, wanted, 'up');
  const unavailable = scaledValue(maxUnavailable, wanted, 'down');
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

export function maxSurge(deployment: Deployment): number {
  return isRollingUpdate(deployment) ? fences(deployment).surge : 0;
}

export function maxUnavailable(deployment: Deployment): number {
  const wanted = replicasOf(deployment);
  if (!isRollingUpdate(deployment) || wanted === 0) return 0;
  return Math.min(fences(deployment).unavailable, wanted);
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

/** The size of the new ReplicaSet that the strategy allows now, when all sets have `total` pods in their specs. */
export function newReplicaSetSize(deployment: Deployment, total: number, current: number): number {
  const wanted = replicasOf(deployment);
  if (!isRollingUpdate(deployment)) return wanted;
  const room = wanted + maxSurge(deployment) - total;
  return room <= 0 ? current : current + Math.min(room, wanted - current);
}
