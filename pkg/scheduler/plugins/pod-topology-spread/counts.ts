import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { DomainSums } from '#scheduler/cluster/domain-sums.js';
import type { PodCounter } from '#scheduler/cluster/label-classes.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Constraint } from '#scheduler/plugins/pod-topology-spread/constraints.js';

/** A constraint with the pods that it is about: those of the pod's namespace that are not being deleted. */
export interface CountedConstraint extends Constraint {
  readonly counter: PodCounter;
  /** By domain, over the nodes that count. */
  readonly sums: DomainSums;
  close(): void;
}

export function countFor(
  constraint: Constraint,
  { namespace }: PodInfo,
  cluster: Cluster,
  counts: (node: NodeInfo) => boolean,
): CountedConstraint {
  const counter = cluster.countPods(
    (pods) => !pods.terminating && pods.namespace === namespace && constraint.selector.matches(pods.labels),
  );
  const sums = cluster.sumUp(counter.counts, constraint.topologyKey, counts);
  return {
    ...constraint,
    counter,
    sums,
    close() {
      cluster.forgetSums(sums);
      cluster.forgetCount(counter);
    },
  };
}
