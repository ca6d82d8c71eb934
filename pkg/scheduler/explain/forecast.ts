/** Forecasts the placement of several pods, by scheduling them one after the other on a copy of the cluster. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { type PodInfo, podInfo } from '#scheduler/cluster/pod-info.js';
import { scoresOf } from '#scheduler/explain/scores.js';
import { type ClusterCopy, fitError, type Snapshot } from '#scheduler/explain/snapshot.js';
import type { Profile } from '#scheduler/framework/profile.js';

export interface CopiesForecast {
  readonly requested: number;
  readonly fit: number;
  readonly nodes: readonly { readonly node: string; readonly copies: number }[];
  /** Why the next copy fits nowhere; absent if all fit. */
  readonly message?: string;
}

/** Places the pod on the copy, where it then counts; or returns why it fits nowhere. */
async function place(
  copy: ClusterCopy,
  pod: PodInfo,
  profile: Profile,
): Promise<{ node: string } | { message: string }> {
  const { fitting, refusals } = await copy.look(pod, profile);
  const [best] = await scoresOf(copy, pod, profile, fitting, 1);
  if (best === undefined) return { message: fitError(copy.cluster.nodes().length, refusals.values()).message };
  copy.cluster.assume(pod, best.node);
  return { node: best.node };
}

/** How many copies of the pod fit, on which nodes, and which resource runs out first. */
export async function copiesOf(
  copy: ClusterCopy,
  pod: Pod,
  profile: Profile,
  requested: number,
): Promise<CopiesForecast> {
  const nodes = new Map<string, number>();
  const end = (fit: number, message?: string): CopiesForecast => ({
    requested: requested,
    fit,
    nodes: [...nodes].map(([node, copies]) => ({ node, copies })).sort((a, b) => b.copies - a.copies),
    ...(message === undefined ? {} : { message }),
  });
  for (let i = 0; i < requested; i++) {
    const name = `${pod.metadata.name ?? 'pod'}-${i}`;
    const one = podInfo({ ...pod, metadata: { ...pod.metadata, name, uid: `copy ${i}` } });
    const placed = await place(copy, one, profile);
    if ('message' in placed) return end(i, placed.message);
    nodes.set(placed.node, (nodes.get(placed.node) ?? 0) + 1);
  }
  return end(requested);
}

export interface Move {
  readonly namespace: string;
  readonly name: string;
  /** The pod's new node. */
  readonly to?: string;
  /** Why it cannot move, or fits nowhere. */
  readonly reason?: string;
  /**
   * `Moves`; `Lost`: no controller recreates it; `Stays`: it belongs to the node; `Blocked`: a disruption budget
   * protects it; `NoRoom`: it fits nowhere.
   */
  readonly outcome: 'Moves' | 'Lost' | 'Stays' | 'Blocked' | 'NoRoom';
}

export interface LeavingForecast {
  readonly node: string;
  readonly moves: readonly Move[];
}

export interface LeavingOptions {
  readonly dialect: Dialect;
  readonly profiles: readonly Profile[];
  /** Whether pods are evicted, which disruption budgets may block; otherwise the node just disappears. */
  readonly drain: boolean;
}

/** `copy` is a copy of `snapshot` without the node and its pods. */
export async function leaving(
  copy: ClusterCopy,
  snapshot: Snapshot,
  node: string,
  { dialect, drain, profiles }: LeavingOptions,
): Promise<LeavingForecast> {
  const podsOnNode = snapshot.placed.filter((each) => each.node === node).map(({ pod }) => pod);
  podsOnNode.sort((a, b) => b.priority - a.priority || (a.key < b.key ? -1 : 1));
  const budgets = snapshot.objects.budgets();
  const allowed = budgets.map((budget) => budget.allowed);
  const moves: Move[] = [];
  for (const pod of podsOnNode) {
    const { metadata, spec } = pod.pod;
    const name = { namespace: pod.namespace, name: metadata.name ?? '' };
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (metadata.annotations?.[dialect.annotations.configMirror] !== undefined) {
      moves.push({ ...name, outcome: 'Stays', reason: 'mirror of a static pod of the node' });
      continue;
    }
    if (owner?.kind === 'DaemonSet') {
      moves.push({
        ...name,
        outcome: 'Stays',
        reason: `one of DaemonSet ${owner.name}, which has a pod on each node`,
      });
      continue;
    }
    if (drain) {
      const covering = budgets.flatMap((budget, i) => (budget.covers(pod) ? [i] : []));
      const blocking = budgets.find((_, i) => covering.includes(i) && (allowed[i] ?? 0) <= 0);
      if (blocking !== undefined) {
        moves.push({
          ...name,
          outcome: 'Blocked',
          reason: `disruption budget ${blocking.key} allows no more evictions`,
        });
        continue;
      }
      for (const i of covering) allowed[i] = (allowed[i] ?? 0) - 1;
    }
    if (owner === undefined) {
      moves.push({ ...name, outcome: 'Lost', reason: 'no controller recreates it' });
      continue;
    }
    const profile = profiles.find(({ schedulerName }) => schedulerName === spec.schedulerName);
    if (profile === undefined) {
      moves.push({ ...name, outcome: 'NoRoom', reason: `left to scheduler "${spec.schedulerName}"` });
      continue;
    }
    const { nodeName: _node, ...rest } = spec;
    const { deletionTimestamp: _deleted, ...fresh } = metadata;
    const placed = await place(copy, podInfo({ ...pod.pod, metadata: fresh, spec: rest }), profile);
    if ('node' in placed) moves.push({ ...name, outcome: 'Moves', to: placed.node });
    else moves.push({ ...name, outcome: 'NoRoom', reason: placed.message });
  }
  return { node, moves };
}

/** The snapshot without the node and its pods. */
export function without(snapshot: Snapshot, node: string): Snapshot {
  return {
    ...snapshot,
    nodes: snapshot.nodes.filter(({ metadata }) => metadata.name !== node),
    placed: snapshot.placed.filter((each) => each.node !== node),
    nominated: snapshot.nominated.filter((each) => each.node !== node),
  };
}
