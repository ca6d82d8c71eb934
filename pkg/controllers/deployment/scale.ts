/** Scaling without a rollout: the pods a deployment gains or loses are shared out over its ReplicaSets. Pure. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { byCreation, type Draft } from '#controllers/deployment/draft.js';
import { isRollingUpdate, maxSurge, replicasOf, specReplicas } from '#controllers/deployment/replica-counts.js';
import { countAnnotation } from '#controllers/deployment/revisions.js';

/** True when a set with pods was scaled for another size of the deployment than the present one. */
export function isScalingEvent(dialect: Dialect, deployment: Deployment, sets: readonly ReplicaSet[]): boolean {
  return sets.some((set) => {
    const desired = countAnnotation(set, dialect.annotations.desiredReplicas);
    return replicasOf(set) > 0 && desired !== undefined && desired !== replicasOf(deployment);
  });
}

export function planScale(dialect: Dialect, deployment: Deployment, draft: Draft): void {
  const wanted = replicasOf(deployment);
  const single = singleSet(draft);
  if (single !== undefined) {
    if (replicasOf(single) !== wanted) draft.scale(single, wanted);
    return;
  }
  if (isSaturated(dialect, deployment, draft.newest)) {
    for (const set of draft.old) if (replicasOf(set) > 0) draft.scale(set, 0);
    return;
  }
  if (isRollingUpdate(deployment)) scaleInProportion(dialect, deployment, draft);
}

/** The only set with pods, or the latest when none has any; undefined in the middle of a rollout. */
function singleSet(draft: Draft): ReplicaSet | undefined {
  const { active } = draft;
  if (active.length === 0) return draft.newest ?? draft.old.at(-1);
  return active.length === 1 ? active[0] : undefined;
}

/** The newest set has all the pods that the deployment wants, and they are available. */
function isSaturated(dialect: Dialect, deployment: Deployment, newest: ReplicaSet | undefined): boolean {
  const wanted = replicasOf(deployment);
  return (
    newest !== undefined &&
    countAnnotation(newest, dialect.annotations.desiredReplicas) === wanted &&
    replicasOf(newest) === wanted &&
    (newest.status?.availableReplicas ?? 0) === wanted
  );
}

/** Each set gains or loses in proportion to its size; the largest takes what rounding leaves. */
function scaleInProportion(dialect: Dialect, deployment: Deployment, draft: Draft): void {
  const active = [...draft.active];
  const wanted = replicasOf(deployment);
  const allowed = wanted > 0 ? wanted + maxSurge(deployment) : 0;
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
  const wanted = replicasOf(deployment);
  const size = replicasOf(set);
  if (wanted === 0) return -size;
  const before = countAnnotation(set, dialect.annotations.maxReplicas) ?? deployment.status?.replicas ?? 0;
  // A set that was never noted down is taken to have been sized for what the deployment is allowed now.
  const max = wanted + maxSurge(deployment);
  return Math.round((size * max) / (before > 0 ? before : max)) - size;
}
