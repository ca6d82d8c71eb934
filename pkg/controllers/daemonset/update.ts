/** Plans the next step of a rolling update. Rules of release 1.24 (pkg/controller/daemon/update.go). Pure. */
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

/** Requires that `planDaemonSet` has nothing else to create or delete. */
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
  // At least one, because without surge and unavailable pods the update could not progress.
  const unavailable = desired === 0 ? 0 : Math.max(1, scaledValue(rollingUpdate?.maxUnavailable ?? 1, desired, 'up'));
  return planReplacement(nodes, unavailable, available);
}

interface UpdatedNode {
  readonly name: string;
  readonly newPod?: Pod;
  readonly oldPod?: Pod;
  /** The node has several new or several old pods, of which the surplus is deleted first. */
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

/** Deletes all unavailable old pods, and available ones while at most `most` nodes lack an available pod. */
function planReplacement(nodes: readonly UpdatedNode[], most: number, available: (pod: Pod) => boolean): UpdatePlan {
  let unavailable = 0;
  const unavailableOld: DaemonDeletion[] = [];
  const candidates: DaemonDeletion[] = [];
  for (const { newPod, oldPod } of nodes) {
    if (oldPod === undefined || newPod !== undefined) {
      if (newPod === undefined || oldPod !== undefined || !available(newPod)) unavailable += 1;
    } else (available(oldPod) ? candidates : unavailableOld).push({ pod: oldPod });
  }
  // Unlike 1.24, count the unavailable old pods: otherwise two template changes in a row would exceed the limit.
  const room = Math.max(0, most - unavailable - unavailableOld.length);
  return { creates: [], deletes: [...unavailableOld, ...candidates.slice(0, room)] };
}

/** Creates new pods beside old ones on at most `most` nodes, and wherever the old pod is unavailable. */
function planSurge(nodes: readonly UpdatedNode[], most: number, available: (pod: Pod) => boolean): UpdatePlan {
  let surging = 0;
  const deletes: DaemonDeletion[] = [];
  const unavailableOld: string[] = [];
  const candidates: string[] = [];
  for (const { name, newPod, oldPod, crowded } of nodes) {
    if (crowded) surging += 1;
    else if (oldPod === undefined) continue;
    else if (newPod === undefined) (available(oldPod) ? candidates : unavailableOld).push(name);
    else if (available(newPod)) deletes.push({ pod: oldPod });
    else surging += 1;
  }
  return { creates: [...unavailableOld, ...candidates.slice(0, Math.max(0, most - surging))], deletes };
}
