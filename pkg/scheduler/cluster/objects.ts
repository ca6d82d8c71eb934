/** What plugins read of objects other than nodes and pods. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { everything, type LabelSelector } from '#apimachinery/selectors/labels.js';
import type { NamespaceLabels } from '#scheduler/cluster/affinity-term.js';

export interface ClusterObjects {
  readonly namespaceLabels: NamespaceLabels;
  /** What the pod's services and its controller select: the pods it is spread among. Everything: nothing selects it. */
  spreadSelector(pod: Pod): LabelSelector;
}

export const noObjects: ClusterObjects = { namespaceLabels: () => undefined, spreadSelector: () => everything };
