/** Pods near or far from other pods, by topology domain. Rules of release 1.24. */
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
  /** What a required affinity of a placed pod weighs for those it asks for; 0 to 100. */
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

/** Those terms of placed pods that concern a pod; looked for anew when there are other terms. */
class TermsAbout<T> {
  readonly #cluster: Cluster;
  readonly #pod: PodInfo;
  readonly #pick: (placed: PlacedTerm) => T | undefined;
  #version = -1;
  #found: readonly T[] = [];

  constructor(cluster: Cluster, pod: PodInfo, pick: (placed: PlacedTerm) => T | undefined) {
    this.#cluster = cluster;
    this.#pod = pod;
    this.#pick = pick;
  }

  now(): readonly T[] {
    const { objects, terms } = this.#cluster;
    if (terms.version !== this.#version) {
      this.#version = terms.version;
      const found: T[] = [];
      for (const placed of terms.terms()) {
        const picked = this.#pick(placed);
        if (picked !== undefined && placed.term.matches(this.#pod, objects.namespaceLabels)) found.push(picked);
      }
      this.#found = found;
    }
    return this.#found;
  }
}

class AffinityFilter implements NodeFilter {
  readonly #others: TermsAbout<DomainSums>;
  /** Of the pods that meet all required terms of affinity, by each term's topology. */
  readonly #affinity: readonly DomainSums[];
  readonly #antiAffinity: readonly DomainSums[];
  /** The pod meets its own affinity: the first of its kind may go anywhere. */
  readonly #meetsItself: boolean;
  readonly close: () => void;

  constructor(pod: PodInfo, cluster: Cluster) {
    const { requiredAffinity, requiredAntiAffinity } = pod.terms;
    const { namespaceLabels } = cluster.objects;
    const counted = new CountedTerms(cluster);
    this.#others = new TermsAbout(cluster, pod, ({ kind, sums }) =>
      kind === 'requiredAntiAffinity' ? sums : undefined,
    );
    this.#affinity = counted.open(
      requiredAffinity.map(({ topologyKey }) => topologyKey),
      (other) => requiredAffinity.every((term) => term.matches(other, namespaceLabels)),
    );
    this.#antiAffinity = requiredAntiAffinity.flatMap((term) =>
      counted.open([term.topologyKey], (other) => term.matches(other, namespaceLabels)),
    );
    this.#meetsItself = requiredAffinity.every((term) => term.matches(pod, namespaceLabels));
    this.close = () => counted.close();
  }

  isIdle(): boolean {
    return this.#affinity.length === 0 && this.#antiAffinity.length === 0 && this.#others.now().length === 0;
  }

  filter(node: NodeInfo): Rejection | undefined {
    if (this.#affinity.length > 0 && !this.#affinityMet(node)) return affinityNotMet;
    for (const sums of this.#antiAffinity) if (sums.of(node) > 0) return antiAffinityNotMet;
    for (const sums of this.#others.now()) if (sums.of(node) > 0) return othersNotMet;
    return undefined;
  }

  #affinityMet(node: NodeInfo): boolean {
    let found = true;
    for (const sums of this.#affinity) {
      if (sums.topology.domainOf(node.slot) < 0) return false;
      if (sums.of(node) <= 0) found = false;
    }
    return found || (this.#meetsItself && this.#affinity.every(({ isEmpty }) => isEmpty));
  }
}

class AffinityScore implements NodeScore {
  readonly #own: readonly { readonly sums: DomainSums; readonly weight: number }[];
  readonly #others: TermsAbout<{ readonly sums: DomainSums; readonly weight: number }>;
  readonly close: () => void;

  constructor(pod: PodInfo, cluster: Cluster, hardWeight: number) {
    const { namespaceLabels } = cluster.objects;
    const counted = new CountedTerms(cluster);
    this.#own = pod.terms.preferred.flatMap(({ term, weight }) =>
      counted
        .open([term.topologyKey], (other) => term.matches(other, namespaceLabels))
        .map((sums) => ({ sums, weight })),
    );
    this.#others = new TermsAbout(cluster, pod, ({ kind, sums, weight }) => {
      if (kind === 'requiredAntiAffinity') return undefined;
      const counts = kind === 'preferred' ? weight : hardWeight;
      return counts === 0 ? undefined : { sums, weight: counts };
    });
    this.close = () => counted.close();
  }

  isIdle(): boolean {
    return this.#own.every(({ sums }) => sums.isEmpty) && this.#others.now().length === 0;
  }

  score(node: NodeInfo): number {
    let score = 0;
    for (const { sums, weight } of this.#own) score += weight * sums.of(node);
    for (const { sums, weight } of this.#others.now()) score += weight * sums.of(node);
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

/** What keeps count of pods for terms, to be given back together. */
class CountedTerms {
  readonly #cluster: Cluster;
  readonly #undo: (() => void)[] = [];

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** The pods that match, by each of the topologies. */
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
