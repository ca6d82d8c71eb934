import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import { maxNodeScore, type NodeScore } from '#scheduler/framework/plugin.js';
import { type Constraint, countingNodes } from '#scheduler/plugins/pod-topology-spread/constraints.js';
import { type CountedConstraint, countFor } from '#scheduler/plugins/pod-topology-spread/counts.js';

/** Of nodes that do not count, until scores are normalized. */
const ignored = -1;

/** Few pods in a domain are good; domains weigh more the more there are of their kind. */
export class SpreadScore implements NodeScore {
  readonly #constraints: readonly CountedConstraint[];
  readonly #hostname: string;
  readonly #needsAllLabels: boolean;
  #weights: number[] = [];

  /** `needsAllLabels`: nodes without one of the labels get nothing. */
  constructor(constraints: readonly Constraint[], pod: PodInfo, cluster: Cluster, needsAllLabels: boolean) {
    this.#hostname = cluster.labels.hostname;
    this.#needsAllLabels = needsAllLabels;
    const counts = countingNodes(pod, needsAllLabels ? constraints.map(({ topologyKey }) => topologyKey) : []);
    this.#constraints = constraints.map((constraint) => countFor(constraint, pod, cluster, counts));
  }

  begin(nodes: readonly NodeInfo[]): void {
    const counting = nodes.filter((node) => !this.#ignores(node));
    this.#weights = this.#constraints.map(({ sums: { topology }, topologyKey }) => {
      if (topologyKey === this.#hostname) return Math.log(counting.length + 2);
      const domains = new Set<number>();
      for (const { slot } of counting) domains.add(topology.domainOf(slot));
      return Math.log(domains.size + 2);
    });
  }

  score(node: NodeInfo): number {
    if (this.#ignores(node)) return ignored;
    let score = 0;
    for (const [i, { counter, maxSkew, sums, topologyKey }] of this.#constraints.entries()) {
      if (sums.topology.domainOf(node.slot) < 0) continue;
      const pods = topologyKey === this.#hostname ? counter.counts.of(node.slot) : sums.of(node);
      score += pods * (this.#weights[i] ?? 0) + (maxSkew - 1);
    }
    return Math.round(score);
  }

  normalize(scores: Float64Array): void {
    let min = Number.POSITIVE_INFINITY;
    let max = 0;
    for (const score of scores) {
      if (score === ignored) continue;
      min = Math.min(min, score);
      max = Math.max(max, score);
    }
    for (let i = 0; i < scores.length; i++) {
      const score = scores[i] ?? 0;
      if (score === ignored) scores[i] = 0;
      else if (max === 0) scores[i] = maxNodeScore;
      else scores[i] = Math.trunc((maxNodeScore * (max + min - score)) / max);
    }
  }

  close(): void {
    for (const constraint of this.#constraints) constraint.close();
  }

  #ignores(node: NodeInfo): boolean {
    return this.#needsAllLabels && this.#constraints.some(({ sums }) => sums.topology.domainOf(node.slot) < 0);
  }
}
