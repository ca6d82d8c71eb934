/**
 * One pass over a daemon set: on which nodes to make pods, which pods to delete, and what the status says. The decisions
 * are those of release 1.24 (pkg/controller/daemon). Pure.
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

/** Pods created or deleted in one pass at most, as in 1.24. */
const burstReplicas = 250;

export interface DaemonSetPlan {
  /** Nodes to make a pod for. */
  readonly creates: readonly string[];
  readonly deletes: readonly DaemonDeletion[];
  readonly status: DaemonSetStatus;
  /** Milliseconds until a failed pod may be replaced. */
  readonly retryAfterMs?: number;
}

/** `now` in milliseconds. */
export function planDaemonSet(observed: DaemonSetObservation, now: number): DaemonSetPlan {
  const states = nodeStates(observed);
  const status = planStatus(observed, states, now);
  const { creates, deletes, retryAfterMs } = states.reduce<Draft>((draft, state) => keep(observed, state, draft, now), {
    creates: [],
    deletes: [],
    retryAfterMs: Number.POSITIVE_INFINITY,
  });
  const again = Number.isFinite(retryAfterMs) ? { retryAfterMs } : {};
  // An update goes on from where every node has what it should have.
  const update = creates.length + deletes.length > 0 ? { creates, deletes } : planUpdate(observed, states, now);
  return {
    creates: update.creates.slice(0, burstReplicas),
    deletes: update.deletes.slice(0, burstReplicas),
    status,
    ...again,
  };
}

/** All nodes, and names of nodes that are gone but have pods. */
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
  return (
    waits(a) - waits(b) ||
    compareText(a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '') ||
    compareText(a.metadata.name ?? '', b.metadata.name ?? '')
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

interface Draft {
  readonly creates: string[];
  readonly deletes: DaemonDeletion[];
  retryAfterMs: number;
}

const isGoing = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined;

/** One pod on each node where one should be, none where none may be. */
function keep(observed: DaemonSetObservation, state: NodeState, draft: Draft, now: number): Draft {
  const { creates, deletes } = draft;
  if (!state.exists) {
    // Nobody else removes them: they were never bound to a node whose going could be noticed.
    for (const pod of state.pods) if ((pod.spec.nodeName ?? '') === '' && !isGoing(pod)) deletes.push({ pod });
    return draft;
  }
  if (state.shouldRun && state.pods.length === 0) {
    creates.push(state.name);
    return draft;
  }
  const present = state.pods.filter((pod) => !isGoing(pod));
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

/** True when a failed pod stays for now: a node that refuses pods must not be asked again and again. */
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

/** With surge an old pod stays beside a new one as long as the old one is ready and the new one is not available. */
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

/** Whether the set's status is another one. Zero counts are left out on the wire. */
export function isNewStatus(old: DaemonSetStatus | undefined, status: DaemonSetStatus): boolean {
  return old === undefined || !semanticEqual(normalized(old), normalized(status));
}

function normalized(status: DaemonSetStatus): DaemonSetStatus {
  const optional = { observedGeneration: 0, updatedNumberScheduled: 0, numberAvailable: 0, numberUnavailable: 0 };
  return { ...optional, collisionCount: 0, ...status };
}

/** Revisions that may go: the oldest of those that have another template and no pod, as many as are over the limit. */
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
