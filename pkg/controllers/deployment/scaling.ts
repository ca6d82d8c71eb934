/** Changes the sizes of ReplicaSets: step by step in a rollout, or in proportion when the deployment is scaled. Pure. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#controllers/deployment/draft.js';
import {
  actualReplicas,
  availableReplicas,
  isRollingUpdate,
  maxSurge,
  maxUnavailable,
  newReplicaSetSize,
  replicasOf,
  specReplicas,
} from '#controllers/deployment/replica-counts.js';
import { countAnnotation } from '#controllers/deployment/revisions.js';
import { byCreation } from '#controllers/framework/order.js';

/** One step of a rolling update. True when something was scaled. */
export function stepRollingUpdate(deployment: Deployment, draft: Draft): boolean {
  return growNewest(deployment, draft) || shrinkOld(deployment, draft);
}

function growNewest(deployment: Deployment, draft: Draft): boolean {
  const { newest } = draft;
  const desired = replicasOf(deployment);
  if (newest === undefined || replicasOf(newest) === desired) return false;
  if (replicasOf(newest) > desired) return draft.scale(newest, desired);
  const size = newReplicaSetSize(deployment, specReplicas(draft.all), replicasOf(newest));
  return size !== replicasOf(newest) && draft.scale(newest, size);
}

/**
 * Shrinks the old sets while enough pods stay available, unavailable pods first. Pods of the newest set that are not yet
 * available do not count.
 */
function shrinkOld(deployment: Deployment, draft: Draft): boolean {
  if (specReplicas(draft.old) === 0) return false;
  const minAvailable = replicasOf(deployment) - maxUnavailable(deployment);
  const { newest } = draft;
  const newestUnavailable = newest === undefined ? 0 : replicasOf(newest) - (newest.status?.availableReplicas ?? 0);
  const budget = specReplicas(draft.all) - minAvailable - newestUnavailable;
  if (budget <= 0) return false;
  const unhealthy = shrink(draft, budget, (set) => replicasOf(set) - (set.status?.availableReplicas ?? 0));
  const healthy = shrink(draft, availableReplicas(draft.all) - minAvailable, replicasOf);
  return unhealthy + healthy > 0;
}

/** Removes up to `budget` pods from the old sets, oldest first, at most `limit(set)` from each. Returns their number. */
function shrink(draft: Draft, budget: number, limit: (set: ReplicaSet) => number): number {
  let removed = 0;
  for (const set of draft.old) {
    const count = Math.min(budget - removed, limit(set), replicasOf(set));
    if (count <= 0) continue;
    draft.scale(set, replicasOf(set) - count);
    removed += count;
  }
  return removed;
}

export type RecreateStep = 'stopping' | 'stopped';

/** Scales all old sets to zero. `stopped` when none of their pods runs. */
export function stepRecreate(draft: Draft, oldPodsRun: boolean): RecreateStep {
  let scaled = false;
  for (const set of draft.old) if (replicasOf(set) > 0) scaled = draft.scale(set, 0) || scaled;
  return scaled || oldPodsRun || actualReplicas(draft.old) > 0 ? 'stopping' : 'stopped';
}

/** True when the deployment's size has changed since a set with pods was scaled. */
export function isScalingEvent(dialect: Dialect, deployment: Deployment, sets: readonly ReplicaSet[]): boolean {
  return sets.some((set) => {
    const desired = countAnnotation(set, dialect.annotations.desiredReplicas);
    return replicasOf(set) > 0 && desired !== undefined && desired !== replicasOf(deployment);
  });
}

export function planScale(dialect: Dialect, deployment: Deployment, draft: Draft): void {
  const desired = replicasOf(deployment);
  const single = singleSet(draft);
  if (single !== undefined) {
    if (replicasOf(single) !== desired) draft.scale(single, desired);
    return;
  }
  if (isSaturated(dialect, deployment, draft.newest)) {
    for (const set of draft.old) if (replicasOf(set) > 0) draft.scale(set, 0);
    return;
  }
  if (isRollingUpdate(deployment)) scaleInProportion(dialect, deployment, draft);
}

/** The only set with pods, or the latest set when none has pods; undefined during a rollout. */
function singleSet(draft: Draft): ReplicaSet | undefined {
  const { active } = draft;
  if (active.length === 0) return draft.newest ?? draft.old.at(-1);
  return active.length === 1 ? active[0] : undefined;
}

/** Whether the newest set has all desired pods, and they are available. */
function isSaturated(dialect: Dialect, deployment: Deployment, newest: ReplicaSet | undefined): boolean {
  const desired = replicasOf(deployment);
  return (
    newest !== undefined &&
    countAnnotation(newest, dialect.annotations.desiredReplicas) === desired &&
    replicasOf(newest) === desired &&
    (newest.status?.availableReplicas ?? 0) === desired
  );
}

/** Scales each set in proportion to its size; the largest set takes the rounding difference. */
function scaleInProportion(dialect: Dialect, deployment: Deployment, draft: Draft): void {
  const active = [...draft.active];
  const desired = replicasOf(deployment);
  const allowed = desired > 0 ? desired + maxSurge(deployment) : 0;
  const change = allowed - specReplicas(active);
  const newerFirst = change > 0;
  active.sort((a, b) => replicasOf(b) - replicasOf(a) || (newerFirst ? byCreation(b, a) : byCreation(a, b)));
  let shared = 0;
  const sizes = active.map((set) => {
    const part = change === 0 ? 0 : proportion(dialect, deployment, set, change, shared);
    shared += part;
    return replicasOf(set) + part;
  });
  active.forEach((set, i) => {
    const leftover = i === 0 && change !== 0 ? change - shared : 0;
    draft.scale(set, Math.max(0, (sizes[i] ?? 0) + leftover));
  });
}

function proportion(dialect: Dialect, deployment: Deployment, set: ReplicaSet, change: number, shared: number): number {
  if (replicasOf(set) === 0 || change === shared) return 0;
  const fraction = fractionOf(dialect, deployment, set);
  const left = change - shared;
  return change > 0 ? Math.min(fraction, left) : Math.max(fraction, left);
}

function fractionOf(dialect: Dialect, deployment: Deployment, set: ReplicaSet): number {
  const desired = replicasOf(deployment);
  const size = replicasOf(set);
  if (desired === 0) return -size;
  const before = countAnnotation(set, dialect.annotations.maxReplicas) ?? deployment.status?.replicas ?? 0;
  // Without the annotation, assume that the set was sized for the current maximum.
  const max = desired + maxSurge(deployment);
  return Math.round((size * max) / (before > 0 ? before : max)) - size;
}
