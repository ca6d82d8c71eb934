/** The input of a daemon set's plan, and types and functions that its parts share. */
import type { DaemonSet } from '#api/apps/v1/types.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { scaledValue } from '#apimachinery/intstr.js';
import type { Placement } from '#controllers/daemonset/placement.js';

export interface DaemonSetObservation {
  readonly dialect: Dialect;
  readonly set: DaemonSet;
  readonly nodes: readonly Node[];
  /** The set's pods. */
  readonly pods: readonly Pod[];
  /** Hash labels of the revisions with the set's template; the first is for new pods. */
  readonly hashes: readonly string[];
  /** Whether a new pod may run beside the old pod on a node. */
  readonly surgeEnabled: boolean;
  /** Milliseconds until a failed pod on the node may be replaced. */
  readonly backoffMs: (node: string) => number;
}

export interface DaemonDeletion {
  readonly pod: Pod;
  /** Set when the pod finished on its node; absent when it is misplaced or outdated. */
  readonly ended?: { readonly how: 'failed' | 'succeeded'; readonly node: string };
}

/** A node's pods and placement. */
export interface NodeState extends Placement {
  readonly name: string;
  readonly exists: boolean;
  /** Scheduled pods first, then the oldest. */
  readonly pods: readonly Pod[];
}

/** Whether the pod has the set's current template. */
export function isUpdatedPod({ dialect, hashes }: Pick<DaemonSetObservation, 'dialect' | 'hashes'>, pod: Pod): boolean {
  return hashes.includes(pod.metadata.labels?.[dialect.labels.controllerRevisionHash] ?? '');
}

/** The number of nodes that may have a new pod beside an old pod. */
export function surgeOf(
  { set, surgeEnabled }: Pick<DaemonSetObservation, 'set' | 'surgeEnabled'>,
  total: number,
): number {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  if (type !== 'RollingUpdate' || !surgeEnabled) return 0;
  return scaledValue(rollingUpdate?.maxSurge ?? 0, total, 'up');
}
