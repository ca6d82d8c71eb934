import type { Cluster, CountPart } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { PodFilters } from '#scheduler/decision/pod-filters.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { Nominator } from '#scheduler/queue/nominator.js';

/**
 * Whether the node can take the pod with and without the pods that are to come there and are as important: they may
 * need each other away, or not come at all. `check` is the question as things are;
 * `counted` takes the times of what those pods change.
 */
export function checkWithNominated(
  cluster: Cluster,
  nominator: Nominator,
  filters: PodFilters,
  pod: PodInfo,
  node: NodeInfo,
  check: () => Refusal | undefined,
  counted?: CountPart,
): Refusal | undefined {
  const there = nominator.on(node.name);
  if (there.length > 0) {
    const coming = there.filter(({ priority, uid }) => uid !== pod.uid && priority >= pod.priority);
    if (coming.length > 0) {
      const refusal = cluster.tentatively(
        node,
        ({ add }) => {
          for (const other of coming) add(other);
          return filters.checkTentative(node);
        },
        counted,
      );
      if (refusal !== undefined) return refusal;
    }
  }
  return check();
}
