import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { NodeFilter, Rejection } from '#scheduler/framework/plugin.js';
import { type Constraint, countingNodes } from '#scheduler/plugins/pod-topology-spread/constraints.js';
import { type CountedConstraint, countFor } from '#scheduler/plugins/pod-topology-spread/counts.js';

const tooUneven: Rejection = { reasons: ["node(s) didn't match pod topology spread constraints"] };
const labelMissing: Rejection = {
  reasons: ["node(s) didn't match pod topology spread constraints (missing required label)"],
  unresolvable: true,
};

/** No domain may have more than `maxSkew` pods above the one that has least. */
export class SpreadFilter implements NodeFilter {
  readonly #constraints: readonly (CountedConstraint & { readonly self: 0 | 1 })[];

  constructor(constraints: readonly Constraint[], pod: PodInfo, cluster: Cluster) {
    const keys = constraints.map(({ topologyKey }) => topologyKey);
    const counts = countingNodes(pod, keys);
    this.#constraints = constraints.map((constraint) => ({
      ...countFor(constraint, pod, cluster, counts),
      self: constraint.selector.matches(pod.labels) ? 1 : 0,
    }));
  }

  filter(node: NodeInfo): Rejection | undefined {
    for (const { maxSkew, minDomains, self, sums } of this.#constraints) {
      if (sums.topology.domainOf(node.slot) < 0) return labelMissing;
      // Domains that are still missing have none.
      const least = sums.domainCount < minDomains ? 0 : (sums.min ?? Number.POSITIVE_INFINITY);
      if (sums.of(node) + self - least > maxSkew) return tooUneven;
    }
    return undefined;
  }

  close(): void {
    for (const constraint of this.#constraints) constraint.close();
  }
}
