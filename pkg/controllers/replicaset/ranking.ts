/** Ranks surplus pods for deletion. Order and numbers of release 1.24 (controller_utils.go, ActivePodsWithRanks). */
import { getPodCondition, isPodActive, isPodReady } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';

const phaseOrder: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** The sort keys in order of priority; smaller values are deleted first. */
interface Ranked {
  readonly pod: Pod;
  readonly assigned: number;
  readonly phase: number;
  readonly ready: number;
  readonly cost: number;
  /** The negative number of related pods on the node. */
  readonly crowd: number;
  readonly readySinceMs: number | undefined;
  readonly restarts: number;
  readonly createdMs: number | undefined;
}

export interface Ranking {
  /** Whether the annotation with the cost of a deletion counts (gate PodDeletionCost). */
  readonly costs: boolean;
  /** Whether ages with the same power of two are equal (gate LogarithmicScaleDown). */
  readonly logarithmic: boolean;
}

/** Jobs know neither costs nor powers of two: 1.24 ranks their pods by ActivePods. */
export const plainRanking: Ranking = { costs: false, logarithmic: false };

export const defaultRanking: Ranking = { costs: true, logarithmic: true };

export interface DeletionChoice {
  readonly dialect: Dialect;
  /** Pods of all sets with the same manager; pods that share their node with many of them are deleted earlier. */
  readonly related?: readonly Pod[];
  /** How many pods to choose. */
  readonly count: number;
  readonly now: number;
  readonly ranking: Ranking;
}

/** The pods to delete first. */
export function podsToDelete(
  pods: readonly Pod[],
  { dialect, related = [], count, now, ranking }: DeletionChoice,
): Pod[] {
  if (count >= pods.length) return [...pods];
  const perNode = new Map<string, number>();
  for (const pod of related) {
    const node = pod.spec.nodeName ?? '';
    if (isPodActive(pod)) perNode.set(node, (perNode.get(node) ?? 0) + 1);
  }
  return pods
    .map((pod) => rank(dialect, pod, { perNode, costs: ranking.costs }))
    .sort((a, b) => compare(a, b, ranking.logarithmic ? now : undefined))
    .slice(0, Math.max(0, count))
    .map(({ pod }) => pod);
}

function rank(
  dialect: Dialect,
  pod: Pod,
  { perNode, costs }: { readonly perNode: ReadonlyMap<string, number>; readonly costs: boolean },
): Ranked {
  const node = pod.spec.nodeName ?? '';
  const ready = isPodReady(pod);
  return {
    pod,
    assigned: node === '' ? 0 : 1,
    phase: phaseOrder[pod.status?.phase ?? ''] ?? 0,
    ready: ready ? 1 : 0,
    cost: costs ? deletionCost(dialect, pod) : 0,
    crowd: -(perNode.get(node) ?? 0),
    readySinceMs: ready ? milliseconds(getPodCondition(pod.status, 'Ready')?.lastTransitionTime) : undefined,
    restarts: Math.max(0, ...(pod.status?.containerStatuses ?? []).map((status) => status.restartCount)),
    createdMs: milliseconds(pod.metadata.creationTimestamp),
  };
}

/** The pod-deletion-cost annotation: a 32-bit integer, zero when absent or malformed. */
function deletionCost(dialect: Dialect, pod: Pod): number {
  const text = pod.metadata.annotations?.[dialect.annotations.podDeletionCost];
  if (text === undefined || !/^-?(0|[1-9][0-9]{0,9})$/.test(text)) return 0;
  const cost = Number(text);
  return cost >= -(2 ** 31) && cost < 2 ** 31 ? cost : 0;
}

function milliseconds(time: string | undefined): number | undefined {
  const ms = time === undefined ? Number.NaN : parseTime(time);
  return Number.isNaN(ms) ? undefined : ms;
}

/** `now`: undefined to compare times exactly. */
function compare(a: Ranked, b: Ranked, now: number | undefined): number {
  for (const key of ['assigned', 'phase', 'ready', 'cost', 'crowd'] as const) {
    if (a[key] !== b[key]) return a[key] - b[key];
  }
  if (a.ready === 1 && b.ready === 1 && a.readySinceMs !== b.readySinceMs) {
    return compareAges(a.readySinceMs, b.readySinceMs, a.pod, b.pod, now);
  }
  if (a.restarts !== b.restarts) return b.restarts - a.restarts;
  if (a.createdMs !== b.createdMs) return compareAges(a.createdMs, b.createdMs, a.pod, b.pod, now);
  return 0;
}

/** Younger pods first. With `now`, ages with the same power of two count as equal; then the UID decides. */
function compareAges(
  aMs: number | undefined,
  bMs: number | undefined,
  a: Pod,
  b: Pod,
  now: number | undefined,
): number {
  if (aMs === undefined || bMs === undefined) return aMs === undefined ? -1 : 1;
  if (now === undefined) return bMs - aMs;
  const difference = logAge(aMs, now) - logAge(bMs, now);
  if (difference !== 0) return difference;
  return (a.metadata.uid ?? '') < (b.metadata.uid ?? '') ? -1 : 1;
}

/** The integer logarithm of the age in nanoseconds, as in 1.24; -1 for no age. */
function logAge(ms: number, now: number): number {
  const ageMs = now - ms;
  return ageMs > 0 ? Math.trunc(Math.log2(ageMs * 1e6)) : -1;
}
