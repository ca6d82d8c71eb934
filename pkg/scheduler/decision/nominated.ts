import type { Cluster, CountPart } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { PodFilters } from '#scheduler/decision/pod-filters.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { Nominator } from '#scheduler/queue/nominator.js';

/**
 * Whether the node can take the pod both with and without the pods nominated to it that are at least as important: they
 * may never arrive, or the pod may depend on them. `check` checks the node as it is; `counted` measures the changes.
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
  const nominated = nominator.podsOn(node.name);
  if (nominated.length > 0) {
    const coming = nominated.filter(({ priority, uid }) => uid !== pod.uid && priority >= pod.priority);
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
