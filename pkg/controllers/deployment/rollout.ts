/** The steps of a rollout: how the newest ReplicaSet grows and the old ones shrink. Pure. */
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Draft } from '#controllers/deployment/draft.js';
import {
  actualReplicas,
  availableReplicas,
  maxUnavailable,
  newReplicaSetSize,
  replicasOf,
  specReplicas,
} from '#controllers/deployment/replica-counts.js';

/** One step of a rolling update. True when something was scaled. */
export function stepRollingUpdate(deployment: Deployment, draft: Draft): boolean {
  return growNewest(deployment, draft) || shrinkOld(deployment, draft);
}

function growNewest(deployment: Deployment, draft: Draft): boolean {
  const { newest } = draft;
  const wanted = replicasOf(deployment);
  if (newest === undefined || replicasOf(newest) === wanted) return false;
  if (replicasOf(newest) > wanted) return draft.scale(newest, wanted);
  const size = newReplicaSetSize(deployment, specReplicas(draft.all), replicasOf(newest));
  return size !== replicasOf(newest) && draft.scale(newest, size);
}

/**
 * Takes pods from the old sets as far as enough stay available: first those that are not available anyway, then
 * others. Pods of the newest set that are not available yet count as if they might never be.
 */
function shrinkOld(deployment: Deployment, draft: Draft): boolean {
  if (specReplicas(draft.old) === 0) return false;
  const minAvailable = replicasOf(deployment) - maxUnavailable(deployment);
  const { newest } = draft;
  const newestUnavailable = newest === undefined ? 0 : replicasOf(newest) - (newest.status?.availableReplicas ?? 0);
  const budget = specReplicas(draft.all) - minAvailable - newestUnavailable;
  if (budget <= 0) return false;
  const unhealthy = take(draft, budget, (set) => replicasOf(set) - (set.status?.availableReplicas ?? 0));
  const healthy = take(draft, availableReplicas(draft.all) - minAvailable, replicasOf);
  return unhealthy + healthy > 0;
}

/** Takes up to `budget` pods from the old sets, oldest first, from each as many as `from` says. */
function take(draft: Draft, budget: number, from: (set: ReplicaSet) => number): number {
  let taken = 0;
  for (const set of draft.old) {
    const count = Math.min(budget - taken, from(set), replicasOf(set));
    if (count <= 0) continue;
    draft.scale(set, replicasOf(set) - count);
    taken += count;
  }
  return taken;
}

export type RecreateStep = 'stopping' | 'stopped';

/** Scales all old sets to nothing. `stopped` when none of their pods runs any more. */
export function stepRecreate(draft: Draft, oldPodsRun: boolean): RecreateStep {
  let scaled = false;
  for (const set of draft.old) if (replicasOf(set) > 0) scaled = draft.scale(set, 0) || scaled;
  return scaled || oldPodsRun || actualReplicas(draft.old) > 0 ? 'stopping' : 'stopped';
}
