import type { Dialect } from '#apimachinery/dialect.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import {
  maxNodeScore,
  type NodeFilter,
  type NodeScore,
  type Plugin,
  type Rejection,
} from '#scheduler/framework/plugin.js';
import {
  type Constraint,
  type CountedConstraint,
  constraintsOf,
  countFor,
  countingNodes,
  type SpreadArgs,
  systemDefaults,
} from '#scheduler/plugins/pod-topology-spread/constraints.js';

/** Raw score of nodes that do not count, until scores are normalized. */
const ignored = -1;

/** Prefers domains with few pods; topologies with more domains weigh more. */
class SpreadScore implements NodeScore {
  readonly #constraints: readonly CountedConstraint[];
  readonly #hostname: string;
  readonly #needsAllLabels: boolean;
  #weights: number[] = [];

  /** `needsAllLabels`: nodes without one of the labels score 0. */
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
      const pods = topologyKey === this.#hostname ? counter.counts.get(node.slot) : sums.sumOf(node);
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

const tooUneven: Rejection = { reasons: ["node(s) didn't match pod topology spread constraints"] };
const labelMissing: Rejection = {
  reasons: ["node(s) didn't match pod topology spread constraints (missing required label)"],
  unresolvable: true,
};

/** Limits the skew: a domain may have at most `maxSkew` pods more than the domain with the fewest. */
class SpreadFilter implements NodeFilter {
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
      // Domains that are missing for `minDomains` count as empty.
      const least = sums.domainCount < minDomains ? 0 : (sums.min ?? Number.POSITIVE_INFINITY);
      if (sums.sumOf(node) + self - least > maxSkew) return tooUneven;
    }
    return undefined;
  }

  close(): void {
    for (const constraint of this.#constraints) constraint.close();
  }
}

/** Explains the first constraint that the pod would violate on the node, with the counts; undefined: none. */
function spreadFacts(
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
    const podsInDomain = sums.sumOf(node);
    const isShort = sums.domainCount < minDomains;
    const least = isShort ? 0 : (sums.min ?? 0);
    const domains = sums.domainCount;
    close();
    const self = selector.matches(pod.labels) ? 1 : 0;
    if (podsInDomain + self - least <= maxSkew) continue;
    const facts = `${topologyKey}=${domain} has ${podsInDomain} such pods`;
    return isShort
      ? `${facts}, and those of missing domains count as 0: there are ${domains}, minDomains is ${minDomains}, maxSkew is ${maxSkew}`
      : `${facts}, the least of all ${least}, maxSkew is ${maxSkew}`;
  }
  return undefined;
}

/** Spreads pods over topology domains; rules of release 1.24. */
export function podTopologySpread(
  dialect: Pick<Dialect, 'labels'>,
  args: SpreadArgs = systemDefaults(dialect),
): Plugin {
  return {
    name: 'PodTopologySpread',
    events: ['NodeAdd', 'NodeLabelChange', 'AssignedPodAdd', 'AssignedPodUpdate', 'AssignedPodDelete'],
    filter: {
      local: false,
      prepare(pod, cluster) {
        const constraints = constraintsOf(pod, 'DoNotSchedule', args, cluster);
        return constraints.length === 0 ? undefined : new SpreadFilter(constraints, pod, cluster);
      },
      explain: (pod, cluster, node) =>
        spreadFacts(constraintsOf(pod, 'DoNotSchedule', args, cluster), pod, cluster, node),
    },
    score: {
      local: false,
      prepare(pod, cluster) {
        const constraints = constraintsOf(pod, 'ScheduleAnyway', args, cluster);
        if (constraints.length === 0) return undefined;
        const hasConstraints = (pod.pod.spec.topologySpreadConstraints ?? []).length > 0;
        return new SpreadScore(constraints, pod, cluster, hasConstraints || !args.system);
      },
    },
  };
}
