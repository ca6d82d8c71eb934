/** What plugins read of objects other than nodes and pods. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { everything, type LabelSelector } from '#apimachinery/selectors/labels.js';
import type { NamespaceLabels } from '#scheduler/cluster/affinity-term.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

/** How many evictions a disruption budget allows. */
export interface Budget {
  readonly allowed: number;
  /** It protects the pod, whose eviction it has not counted yet. */
  covers(pod: PodInfo): boolean;
}

export interface ClusterObjects {
  readonly namespaceLabels: NamespaceLabels;
  /** What the pod's services and its controller select: the pods it is spread among. Everything: nothing selects it. */
  spreadSelector(pod: Pod): LabelSelector;
  /** The same list until one of them changes. */
  budgets(): readonly Budget[];
}

const none: readonly Budget[] = [];

export const noObjects: ClusterObjects = {
  namespaceLabels: () => undefined,
  spreadSelector: () => everything,
  budgets: () => none,
};
