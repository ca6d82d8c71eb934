/** What the plan of a daemon set is made from, and the terms that its parts share. */
import type { DaemonSet } from '#api/apps/v1/types.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { scaledValue } from '#apimachinery/intstr.js';
import type { Placement } from '#controllers/daemonset/placement.js';

export interface DaemonSetObservation {
  readonly dialect: Dialect;
  readonly set: DaemonSet;
  readonly nodes: readonly Node[];
  /** The set's own. */
  readonly pods: readonly Pod[];
  /** Hash labels of the revisions that have the set's template; the first is for new pods. */
  readonly hashes: readonly string[];
  /** Whether a new pod may run beside the old one of its node. */
  readonly surgeEnabled: boolean;
  /** Milliseconds until a failed pod of the node may be replaced. */
  readonly backoffMs: (node: string) => number;
}

export interface DaemonDeletion {
  readonly pod: Pod;
  /** Why: it ended on that node though it must go on. Absent: it is not wanted there, or out of date. */
  readonly ended?: { readonly how: 'failed' | 'succeeded'; readonly node: string };
}

/** What is on a node, and what belongs there. */
export interface NodeState extends Placement {
  readonly name: string;
  readonly exists: boolean;
  /** Those that count first: scheduled ones, and the oldest of these. */
  readonly pods: readonly Pod[];
}

/** Whether the pod is one of the set's present template. */
export function isUpdatedPod({ dialect, hashes }: Pick<DaemonSetObservation, 'dialect' | 'hashes'>, pod: Pod): boolean {
  return hashes.includes(pod.metadata.labels?.[dialect.labels.controllerRevisionHash] ?? '');
}

/** How many nodes of `total` may have a new pod beside an old one. */
export function surgeOf(
  { set, surgeEnabled }: Pick<DaemonSetObservation, 'set' | 'surgeEnabled'>,
  total: number,
): number {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  if (type !== 'RollingUpdate' || !surgeEnabled) return 0;
  return scaledValue(rollingUpdate?.maxSurge ?? 0, total, 'up');
}
