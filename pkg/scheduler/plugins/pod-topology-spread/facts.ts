import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import { type Constraint, countingNodes } from '#scheduler/plugins/pod-topology-spread/constraints.js';
import { countFor } from '#scheduler/plugins/pod-topology-spread/counts.js';

/** The first constraint that the pod would break on the node, with what was counted; undefined when there is none. */
export function spreadFacts(
  constraints: readonly Constraint[],
  pod: PodInfo,
  cluster: Cluster,
  node: NodeInfo,
): string | undefined {
  const keys = constraints.map(({ topologyKey }) => topologyKey);
  const counts = countingNodes(pod, keys);
  for (const constraint of constraints) {
    const { maxSkew, minDomains, selector, topologyKey } = constraint;
    const domain = node.labels[topologyKey];
    if (domain === undefined) return `the node has no label ${topologyKey}`;
    const { close, sums } = countFor(constraint, pod, cluster, counts);
    const here = sums.of(node);
    const isShort = sums.domainCount < minDomains;
    const least = isShort ? 0 : (sums.min ?? 0);
    const domains = sums.domainCount;
    close();
    const own = selector.matches(pod.labels) ? 1 : 0;
    if (here + own - least <= maxSkew) continue;
    const there = `${topologyKey}=${domain} has ${here} such pods`;
    return isShort
      ? `${there}, and those of missing domains count as 0: there are ${domains}, minDomains is ${minDomains}, maxSkew is ${maxSkew}`
      : `${there}, the least of all ${least}, maxSkew is ${maxSkew}`;
  }
  return undefined;
}
