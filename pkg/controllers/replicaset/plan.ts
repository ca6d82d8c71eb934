/** Plans pods to create and delete, and the status. Pure. */

import type { ReplicaSetStatus } from '#api/apps/v1/types.gen.js';
import { getPodCondition, isPodAvailable, isPodReady } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime, parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { selectorFromLabels } from '#apimachinery/selectors/labels.js';
import { podsToDelete, type Ranking } from '#controllers/replicaset/ranking.js';
import type { Replicated, ReplicatedCondition } from '#controllers/replicaset/replicated-kinds.js';

/** The maximum of pods created or deleted in one reconcile, as in 1.24. */
export const burstReplicas = 500;

export type ReplicaAction =
  | { readonly kind: 'create'; readonly count: number }
  | { readonly kind: 'delete'; readonly pods: readonly Pod[] };

export interface ReplicaObservation {
  readonly dialect: Dialect;
  readonly set: Replicated;
  /** The set's pods, without finished pods and pods in deletion. */
  readonly pods: readonly Pod[];
  /** Pods of all sets with the same manager; called only when pods must be deleted. */
  readonly relatedPods: () => readonly Pod[];
  readonly ranking: Ranking;
}

export function planReplicas(observation: ReplicaObservation, now: number): ReplicaAction[] {
  const { dialect, set, pods, relatedPods, ranking } = observation;
  if (set.metadata.deletionTimestamp !== undefined) return [];
  const desired = set.spec.replicas ?? 1;
  if (pods.length < desired) return [{ kind: 'create', count: Math.min(desired - pods.length, burstReplicas) }];
  if (pods.length === desired) return [];
  const count = Math.min(pods.length - desired, burstReplicas);
  return [{ kind: 'delete', pods: podsToDelete(pods, { dialect, related: relatedPods(), count, now, ranking }) }];
}

export interface ReplicaFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly message: string;
}

/** The new status; undefined when unchanged. Without `managed` no write was attempted: the failure condition stays. */
export function planStatus(
  set: Replicated,
  pods: readonly Pod[],
  outcome: { readonly managed: boolean; readonly failure?: ReplicaFailure | undefined },
  now: number,
): ReplicaSetStatus | undefined {
  const templateLabels = selectorFromLabels(set.spec.template?.metadata?.labels);
  const minReadySeconds = set.spec.minReadySeconds ?? 0;
  const old = set.status;
  const conditions = planConditions(old?.conditions ?? [], outcome, now);
  const count = (test: (pod: Pod) => boolean) => pods.reduce((sum, pod) => (test(pod) ? sum + 1 : sum), 0);
  const status: Draft<ReplicaSetStatus> = {
    replicas: pods.length,
    fullyLabeledReplicas: count((pod) => templateLabels.matches(pod.metadata.labels)),
    readyReplicas: count(isPodReady),
    availableReplicas: count((pod) => isPodAvailable(pod, minReadySeconds, now)),
    observedGeneration: set.metadata.generation ?? 0,
  };
  if (conditions.length > 0) status.conditions = conditions;
  return semanticEqual(normalized(old), status) ? undefined : status;
}

/** Omitted counts equal zero. */
function normalized(status: ReplicaSetStatus | undefined): ReplicaSetStatus {
  return {
    fullyLabeledReplicas: 0,
    readyReplicas: 0,
    availableReplicas: 0,
    observedGeneration: 0,
    ...status,
    replicas: status?.replicas ?? -1,
  };
}

function planConditions(
  old: readonly ReplicatedCondition[],
  { managed, failure }: { readonly managed: boolean; readonly failure?: ReplicaFailure | undefined },
  now: number,
): ReplicatedCondition[] {
  const current = old.find((condition) => condition.type === 'ReplicaFailure');
  const others = old.filter((condition) => condition.type !== 'ReplicaFailure');
  if (!managed) return [...old];
  if (failure === undefined) return others;
  // Keep the first failure, so that retries do not update the status repeatedly.
  if (current !== undefined) return [...old];
  return [...others, { type: 'ReplicaFailure', status: 'True', lastTransitionTime: formatTime(now), ...failure }];
}

/** Milliseconds until the next ready pod becomes available; undefined when none is pending. */
export function nextAvailableMs(set: Replicated, pods: readonly Pod[], now: number): number | undefined {
  const minReadySeconds = set.spec.minReadySeconds ?? 0;
  if (minReadySeconds === 0) return undefined;
  let first: number | undefined;
  for (const pod of pods) {
    const ready = getPodCondition(pod.status, 'Ready');
    if (ready?.status !== 'True' || ready.lastTransitionTime === undefined) continue;
    const dueMs = parseTime(ready.lastTransitionTime) + minReadySeconds * 1000 + 1 - now;
    if (dueMs > 0 && (first === undefined || dueMs < first)) first = dueMs;
  }
  return first;
}
