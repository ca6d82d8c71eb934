/**
 * Plans one reconcile of a daemon set: pods to create and delete, and the status. Rules of release 1.24
 * (pkg/controller/daemon). Pure.
 */
import type { ControllerRevision, DaemonSetStatus } from '#api/apps/v1/types.gen.js';
import { isPodAvailable, isPodReady, isPodTerminal } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import {
  type DaemonDeletion,
  type DaemonSetObservation,
  isUpdatedPod,
  type NodeState,
  surgeOf,
} from '#controllers/daemonset/observation.js';
import { daemonTemplate, placementOn, targetNode } from '#controllers/daemonset/placement.js';
import { planUpdate } from '#controllers/daemonset/update.js';
import { byCreation } from '#controllers/framework/order.js';

/** The maximum of created and of deleted pods in one reconcile, as in 1.24. */
const burstReplicas = 250;

export interface DaemonSetPlan {
  /** Names of nodes that need a pod. */
  readonly creates: readonly string[];
  readonly deletes: readonly DaemonDeletion[];
  readonly status: DaemonSetStatus;
  /** Milliseconds until a failed pod may be replaced. */
  readonly retryAfterMs?: number;
}

export function planDaemonSet(observed: DaemonSetObservation, now: number): DaemonSetPlan {
  const states = nodeStates(observed);
  const status = planStatus(observed, states, now);
  const { creates, deletes, retryAfterMs } = states.reduce<Draft>((draft, state) => keep(observed, state, draft, now), {
    creates: [],
    deletes: [],
    retryAfterMs: Number.POSITIVE_INFINITY,
  });
  const retry = Number.isFinite(retryAfterMs) ? { retryAfterMs } : {};
  // A rolling update continues only when every node has its pod.
  const update = creates.length + deletes.length > 0 ? { creates, deletes } : planUpdate(observed, states, now);
  return {
    creates: update.creates.slice(0, burstReplicas),
    deletes: update.deletes.slice(0, burstReplicas),
    status,
    ...retry,
  };
}

/** The states of all nodes, and of deleted nodes that still have pods. */
function nodeStates({ dialect, set, nodes, pods }: DaemonSetObservation): NodeState[] {
  const template = daemonTemplate(dialect, set);
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = targetNode(pod);
    if (node === undefined) continue;
    const others = byNode.get(node);
    if (others === undefined) byNode.set(node, [pod]);
    else others.push(pod);
  }
  const states: NodeState[] = [];
  for (const node of nodes) {
    const { name = '' } = node.metadata;
    const own = (byNode.get(name) ?? []).sort(byImportance);
    byNode.delete(name);
    states.push({ name, exists: true, pods: own, ...placementOn(template, node) });
  }
  for (const [name, own] of byNode) {
    states.push({ name, exists: false, pods: own.sort(byImportance), shouldRun: false, shouldContinue: false });
  }
  return states;
}

function byImportance(a: Pod, b: Pod): number {
  const waits = (pod: Pod) => Number((pod.spec.nodeName ?? '') === '');
  return waits(a) - waits(b) || byCreation(a, b);
}

interface Draft {
  readonly creates: string[];
  readonly deletes: DaemonDeletion[];
  retryAfterMs: number;
}

const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined;

/** Ensures one pod on each matching node and none on other nodes. */
function keep(observed: DaemonSetObservation, state: NodeState, draft: Draft, now: number): Draft {
  const { creates, deletes } = draft;
  if (!state.exists) {
    // Pod garbage collection handles bound pods only.
    for (const pod of state.pods) if ((pod.spec.nodeName ?? '') === '' && !isTerminating(pod)) deletes.push({ pod });
    return draft;
  }
  if (state.shouldRun && state.pods.length === 0) {
    creates.push(state.name);
    return draft;
  }
  const present = state.pods.filter((pod) => !isTerminating(pod));
  if (!state.shouldContinue) {
    for (const pod of present) deletes.push({ pod });
    return draft;
  }
  const waits = replaceEnded(observed, state, present, draft);
  const running = present.filter((pod) => !isPodTerminal(pod));
  if (surgeOf(observed, 1) === 0) {
    for (const pod of running.slice(1)) deletes.push({ pod });
  } else if (running.length === 0) {
    if (state.shouldRun && !waits) creates.push(state.name);
  } else for (const pod of surplusOfSurge(observed, running, now)) deletes.push({ pod });
  return draft;
}

/** Returns true when a failed pod must stay until its backoff ends, as on a node that rejects pods. */
function replaceEnded(
  { backoffMs }: DaemonSetObservation,
  { name: node }: NodeState,
  present: readonly Pod[],
  draft: Draft,
): boolean {
  let waits = false;
  for (const pod of present.filter(isPodTerminal)) {
    const how = pod.status?.phase === 'Failed' ? 'failed' : 'succeeded';
    const waitMs = how === 'failed' ? backoffMs(node) : 0;
    if (waitMs === 0) draft.deletes.push({ pod, ended: { how, node } });
    else {
      waits = true;
      draft.retryAfterMs = Math.min(draft.retryAfterMs, waitMs);
    }
  }
  return waits;
}

/** With surge, a ready old pod stays until the new pod is available. */
function surplusOfSurge(observed: DaemonSetObservation, running: readonly Pod[], now: number): Pod[] {
  if (running.length <= 1) return [];
  const fresh = running.filter((pod) => isUpdatedPod(observed, pod));
  const old = running.filter((pod) => !isUpdatedPod(observed, pod));
  const surplus = [...fresh.slice(1), ...old.slice(1)];
  const [newPod, oldPod] = [fresh[0], old[0]];
  if (newPod === undefined || oldPod === undefined) return surplus;
  const replaced = !isPodReady(oldPod) || isPodAvailable(newPod, observed.set.spec.minReadySeconds ?? 0, now);
  return replaced ? [...surplus, oldPod] : surplus;
}

function planStatus(observed: DaemonSetObservation, states: readonly NodeState[], now: number): DaemonSetStatus {
  const { set } = observed;
  const counts = { desired: 0, current: 0, misscheduled: 0, ready: 0, available: 0, updated: 0 };
  for (const { exists, shouldRun, pods } of states) {
    if (!exists) continue;
    const [pod] = pods;
    if (!shouldRun) {
      if (pod !== undefined) counts.misscheduled += 1;
      continue;
    }
    counts.desired += 1;
    if (pod === undefined) continue;
    counts.current += 1;
    if (isPodReady(pod)) counts.ready += 1;
    if (isPodAvailable(pod, set.spec.minReadySeconds ?? 0, now)) counts.available += 1;
    if (isUpdatedPod(observed, pod)) counts.updated += 1;
  }
  return {
    ...set.status,
    observedGeneration: set.metadata.generation ?? 0,
    desiredNumberScheduled: counts.desired,
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    numberReady: counts.ready,
    updatedNumberScheduled: counts.updated,
    numberAvailable: counts.available,
    numberUnavailable: counts.desired - counts.available,
  };
}

/** Whether the status changes. Omitted counts equal zero. */
export function isNewStatus(old: DaemonSetStatus | undefined, status: DaemonSetStatus): boolean {
  return old === undefined || !semanticEqual(normalized(old), normalized(status));
}

function normalized(status: DaemonSetStatus): DaemonSetStatus {
  const optional = { observedGeneration: 0, updatedNumberScheduled: 0, numberAvailable: 0, numberUnavailable: 0 };
  return { ...optional, collisionCount: 0, ...status };
}

/** The oldest revisions beyond the history limit, without those of the current template or with pods. */
export function excessRevisions(
  { dialect, set, pods, hashes }: Pick<DaemonSetObservation, 'dialect' | 'set' | 'pods' | 'hashes'>,
  revisions: readonly ControllerRevision[],
): ControllerRevision[] {
  const live = new Set(pods.map((pod) => pod.metadata.labels?.[dialect.labels.controllerRevisionHash]));
  const hashOf = ({ metadata }: ControllerRevision) => metadata.labels?.[dialect.labels.controllerRevisionHash] ?? '';
  const old = revisions.filter((revision) => !hashes.includes(hashOf(revision)));
  const over = Math.max(0, old.length - (set.spec.revisionHistoryLimit ?? 10));
  return old.filter((revision) => !live.has(hashOf(revision))).slice(0, over);
}
