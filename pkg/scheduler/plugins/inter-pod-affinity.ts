/** Inter-pod affinity and anti-affinity by topology domain; rules of release 1.24. */
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { DomainSums } from '#scheduler/cluster/domain-sums.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { PlacedTerm } from '#scheduler/cluster/term-index.js';
import {
  maxNodeScore,
  type NodeFilter,
  type NodeScore,
  type Plugin,
  type Rejection,
} from '#scheduler/framework/plugin.js';

export interface InterPodAffinityArgs {
  /** Weight of placed pods' required affinity for the pods that it matches; 0 to 100. */
  readonly hardPodAffinityWeight?: number;
}

const affinityNotMet: Rejection = { reasons: ["node(s) didn't match pod affinity rules"], unresolvable: true };
const antiAffinityNotMet: Rejection = { reasons: ["node(s) didn't match pod anti-affinity rules"] };
const othersNotMet: Rejection = { reasons: ["node(s) didn't satisfy existing pods anti-affinity rules"] };

export function interPodAffinity({ hardPodAffinityWeight = 1 }: InterPodAffinityArgs = {}): Plugin {
  return {
    name: 'InterPodAffinity',
    events: ['NodeAdd', 'NodeLabelChange', 'AssignedPodAdd', 'AssignedPodUpdate', 'AssignedPodDelete'],
    filter: { local: false, prepare: (pod, cluster) => new AffinityFilter(pod, cluster) },
    score: { local: false, prepare: (pod, cluster) => new AffinityScore(pod, cluster, hardPodAffinityWeight) },
  };
}

/** The terms of placed pods that match a pod; recomputed when the set of terms changes. */
class MatchingTerms<T> {
  readonly #cluster: Cluster;
  readonly #pod: PodInfo;
  readonly #pick: (placed: PlacedTerm) => T | undefined;
  #version = -1;
  #matches: readonly T[] = [];

  constructor(cluster: Cluster, pod: PodInfo, pick: (placed: PlacedTerm) => T | undefined) {
    this.#cluster = cluster;
    this.#pod = pod;
    this.#pick = pick;
  }

  now(): readonly T[] {
    const { objects, terms } = this.#cluster;
    if (terms.version !== this.#version) {
      this.#version = terms.version;
      const matches: T[] = [];
      for (const placed of terms.terms()) {
        const picked = this.#pick(placed);
        if (picked !== undefined && placed.term.matches(this.#pod, objects.namespaceLabels)) matches.push(picked);
      }
      this.#matches = matches;
    }
    return this.#matches;
  }
}

class AffinityFilter implements NodeFilter {
  readonly #placedTerms: MatchingTerms<DomainSums>;
  /** Counts of the pods that match all required affinity terms, per term topology. */
  readonly #affinity: readonly DomainSums[];
  readonly #antiAffinity: readonly DomainSums[];
  /** The pod matches its own affinity, so the first such pod may go to any node. */
  readonly #matchesItself: boolean;
  readonly close: () => void;

  constructor(pod: PodInfo, cluster: Cluster) {
    const { requiredAffinity, requiredAntiAffinity } = pod.terms;
    const { namespaceLabels } = cluster.objects;
    const counted = new CountedTerms(cluster);
    this.#placedTerms = new MatchingTerms(cluster, pod, ({ kind, sums }) =>
      kind === 'requiredAntiAffinity' ? sums : undefined,
    );
    this.#affinity = counted.open(
      requiredAffinity.map(({ topologyKey }) => topologyKey),
      (other) => requiredAffinity.every((term) => term.matches(other, namespaceLabels)),
    );
    this.#antiAffinity = requiredAntiAffinity.flatMap((term) =>
      counted.open([term.topologyKey], (other) => term.matches(other, namespaceLabels)),
    );
    this.#matchesItself = requiredAffinity.every((term) => term.matches(pod, namespaceLabels));
    this.close = () => counted.close();
  }

  isIdle(): boolean {
    return this.#affinity.length === 0 && this.#antiAffinity.length === 0 && this.#placedTerms.now().length === 0;
  }

  filter(node: NodeInfo): Rejection | undefined {
    if (this.#affinity.length > 0 && !this.#affinityMet(node)) return affinityNotMet;
    for (const sums of this.#antiAffinity) if (sums.sumOf(node) > 0) return antiAffinityNotMet;
    for (const sums of this.#placedTerms.now()) if (sums.sumOf(node) > 0) return othersNotMet;
    return undefined;
  }

  #affinityMet(node: NodeInfo): boolean {
    let exists = true;
    for (const sums of this.#affinity) {
      if (sums.topology.domainOf(node.slot) < 0) return false;
      if (sums.sumOf(node) <= 0) exists = false;
    }
    return exists || (this.#matchesItself && this.#affinity.every(({ isEmpty }) => isEmpty));
  }
}

class AffinityScore implements NodeScore {
  readonly #preferred: readonly { readonly sums: DomainSums; readonly weight: number }[];
  readonly #placedTerms: MatchingTerms<{ readonly sums: DomainSums; readonly weight: number }>;
  readonly close: () => void;

  constructor(pod: PodInfo, cluster: Cluster, hardWeight: number) {
    const { namespaceLabels } = cluster.objects;
    const counted = new CountedTerms(cluster);
    this.#preferred = pod.terms.preferred.flatMap(({ term, weight }) =>
      counted
        .open([term.topologyKey], (other) => term.matches(other, namespaceLabels))
        .map((sums) => ({ sums, weight })),
    );
    this.#placedTerms = new MatchingTerms(cluster, pod, ({ kind, sums, weight }) => {
      if (kind === 'requiredAntiAffinity') return undefined;
      const counts = kind === 'preferred' ? weight : hardWeight;
      return counts === 0 ? undefined : { sums, weight: counts };
    });
    this.close = () => counted.close();
  }

  isIdle(): boolean {
    return this.#preferred.every(({ sums }) => sums.isEmpty) && this.#placedTerms.now().length === 0;
  }

  score(node: NodeInfo): number {
    let score = 0;
    for (const { sums, weight } of this.#preferred) score += weight * sums.sumOf(node);
    for (const { sums, weight } of this.#placedTerms.now()) score += weight * sums.sumOf(node);
    return score;
  }

  normalize(scores: Float64Array): void {
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    for (const score of scores) {
      min = Math.min(min, score);
      max = Math.max(max, score);
    }
    const range = max - min;
    for (let i = 0; i < scores.length; i++) {
      scores[i] = range > 0 ? Math.trunc(maxNodeScore * (((scores[i] ?? 0) - min) / range)) : 0;
    }
  }
}

/** Pod counts for terms, released together. */
class CountedTerms {
  readonly #cluster: Cluster;
  readonly #undo: (() => void)[] = [];

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Counts of the matching pods by each topology. */
  open(topologyKeys: readonly string[], matches: Parameters<Cluster['countPods']>[0]): DomainSums[] {
    if (topologyKeys.length === 0) return [];
    const counter = this.#cluster.countPods(matches);
    const sums = topologyKeys.map((key) => this.#cluster.sumUp(counter.counts, key));
    this.#undo.push(() => {
      for (const each of sums) this.#cluster.forgetSums(each);
      this.#cluster.forgetCount(counter);
    });
    return sums;
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }
}
