/** The next pods of a rolling update. The decisions are those of release 1.24 (pkg/controller/daemon/update.go). Pure. */
import { isPodAvailable } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { scaledValue } from '#apimachinery/intstr.js';
import {
  type DaemonDeletion,
  type DaemonSetObservation,
  isUpdatedPod,
  type NodeState,
  surgeOf,
} from '#controllers/daemonset/observation.js';

interface UpdatePlan {
  readonly creates: readonly string[];
  readonly deletes: readonly DaemonDeletion[];
}

const nothing: UpdatePlan = { creates: [], deletes: [] };

/** For nodes that have what `planDaemonSet` wants them to have otherwise. */
export function planUpdate(observed: DaemonSetObservation, states: readonly NodeState[], now: number): UpdatePlan {
  const { type, rollingUpdate } = observed.set.spec.updateStrategy ?? {};
  if (type !== 'RollingUpdate') return nothing;
  const desired = states.filter((state) => state.shouldRun).length;
  const surge = surgeOf(observed, desired);
  const nodes = states
    .filter((state) => state.shouldRun || state.pods.length > 0)
    .map((state) => ({ name: state.name, ...podsOn(observed, state) }));
  const available = (pod: Pod) => isPodAvailable(pod, observed.set.spec.minReadySeconds ?? 0, now);
  if (surge > 0) return planSurge(nodes, surge, available);
  // Neither allowed would stand still.
  const unavailable = desired === 0 ? 0 : Math.max(1, scaledValue(rollingUpdate?.maxUnavailable ?? 1, desired, 'up'));
  return planReplacement(nodes, unavailable, available);
}

interface UpdatedNode {
  readonly name: string;
  readonly newPod?: Pod;
  readonly oldPod?: Pod;
  /** More than one of a kind: to be cleaned up first. */
  readonly crowded: boolean;
}

function podsOn(observed: DaemonSetObservation, { pods }: NodeState): Omit<UpdatedNode, 'name'> {
  const present = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const fresh = present.filter((pod) => isUpdatedPod(observed, pod));
  const old = present.filter((pod) => !isUpdatedPod(observed, pod));
  const crowded = fresh.length > 1 || old.length > 1;
  return {
    crowded,
    ...(fresh[0] === undefined || crowded ? {} : { newPod: fresh[0] }),
    ...(old[0] === undefined || crowded ? {} : { oldPod: old[0] }),
  };
}

/** Old pods go as long as no more than `most` nodes are without an available pod; those that are not available anyway. */
function planReplacement(nodes: readonly UpdatedNode[], most: number, available: (pod: Pod) => boolean): UpdatePlan {
  let unavailable = 0;
  const useless: DaemonDeletion[] = [];
  const candidates: DaemonDeletion[] = [];
  for (const { newPod, oldPod } of nodes) {
    if (oldPod === undefined || newPod !== undefined) {
      if (newPod === undefined || oldPod !== undefined || !available(newPod)) unavailable += 1;
    } else (available(oldPod) ? candidates : useless).push({ pod: oldPod });
  }
  // Unlike in 1.24 the useless ones count: two templates in a row would take away more than may be missing.
  const room = Math.max(0, most - unavailable - useless.length);
  return { creates: [], deletes: [...useless, ...candidates.slice(0, room)] };
}

/** New pods come beside old ones on no more than `most` nodes at a time, and where the old one is not available anyway. */
function planSurge(nodes: readonly UpdatedNode[], most: number, available: (pod: Pod) => boolean): UpdatePlan {
  let surging = 0;
  const deletes: DaemonDeletion[] = [];
  const useless: string[] = [];
  const candidates: string[] = [];
  for (const { name, newPod, oldPod, crowded } of nodes) {
    if (crowded) surging += 1;
    else if (oldPod === undefined) continue;
    else if (newPod === undefined) (available(oldPod) ? candidates : useless).push(name);
    else if (available(newPod)) deletes.push({ pod: oldPod });
    else surging += 1;
  }
  return { creates: [...useless, ...candidates.slice(0, Math.max(0, most - surging))], deletes };
}
