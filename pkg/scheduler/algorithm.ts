/** One scheduling decision: pure but for the position from which nodes are looked at next time. */
import { FitError } from '#scheduler/framework/fit-error.js';
import type { NodeInfo } from '#scheduler/framework/node-info.js';
import type { ScorePlugin } from '#scheduler/framework/plugin.js';
import type { PodInfo } from '#scheduler/framework/pod-info.js';
import type { Profile } from '#scheduler/framework/profile.js';

/** Clusters up to this size are always looked at whole. */
const minFeasibleNodes = 100;
const minFeasiblePercentage = 5;

/**
 * How many fitting nodes are enough. Follows release 1.24: the percentage that was asked for, or with 0 half of the
 * nodes, less by one percent per 125 nodes, at least 5 percent; and always at least 100 nodes.
 */
export function feasibleNodesToFind(nodeCount: number, percentageAsked = 0): number {
  if (nodeCount < minFeasibleNodes || percentageAsked >= 100) return nodeCount;
  const adaptive = Math.max(minFeasiblePercentage, 50 - Math.floor(nodeCount / 125));
  const percentage = percentageAsked === 0 ? adaptive : percentageAsked;
  return Math.max(minFeasibleNodes, Math.floor((nodeCount * percentage) / 100));
}

export interface Decision {
  readonly node: NodeInfo;
  readonly evaluatedNodes: number;
  readonly feasibleNodes: number;
}

export class Algorithm {
  readonly #random: () => number;
  readonly #percentage: number;
  /** Rotates, so that a sample of a large cluster is not always its beginning. */
  #next = 0;

  /** `percentageOfNodesToScore`: 0 or absent leaves it to the size of the cluster. */
  constructor(options: { random: () => number; percentageOfNodesToScore?: number }) {
    this.#random = options.random;
    this.#percentage = options.percentageOfNodesToScore ?? 0;
  }

  /** Picks the node; throws a FitError when none fits. */
  schedule(pod: PodInfo, nodes: readonly NodeInfo[], profile: Profile): Decision {
    const { feasible, evaluated } = this.#filter(pod, nodes, profile);
    const best = feasible.length === 1 ? 0 : this.#best(score(pod, feasible, profile.scores));
    const node = feasible[best];
    if (node === undefined) throw new FitError(nodes.length, new Map(), new Set());
    return { node, evaluatedNodes: evaluated, feasibleNodes: feasible.length };
  }

  #filter(pod: PodInfo, nodes: readonly NodeInfo[], profile: Profile): { feasible: NodeInfo[]; evaluated: number } {
    const enough = feasibleNodesToFind(nodes.length, this.#percentage);
    const feasible: NodeInfo[] = [];
    const reasons = new Map<string, number>();
    const plugins = new Set<string>();
    let evaluated = 0;
    while (evaluated < nodes.length && feasible.length < enough) {
      const node = nodes[(this.#next + evaluated) % nodes.length];
      evaluated++;
      if (node === undefined) continue;
      if (!fits(pod, node, profile, reasons, plugins)) continue;
      feasible.push(node);
    }
    this.#next = nodes.length === 0 ? 0 : (this.#next + evaluated) % nodes.length;
    if (feasible.length === 0) throw new FitError(nodes.length, reasons, plugins);
    return { feasible, evaluated };
  }

  /** Index of the highest total; among equals one at random. */
  #best(totals: readonly number[]): number {
    let best = 0;
    let ties = 1;
    for (let i = 1; i < totals.length; i++) {
      const difference = (totals[i] ?? 0) - (totals[best] ?? 0);
      if (difference > 0) {
        best = i;
        ties = 1;
      } else if (difference === 0 && this.#random() * ++ties < 1) {
        best = i;
      }
    }
    return best;
  }
}

function fits(
  pod: PodInfo,
  node: NodeInfo,
  profile: Profile,
  reasons: Map<string, number>,
  plugins: Set<string>,
): boolean {
  for (const filter of profile.filters) {
    const rejection = filter.filter(pod, node);
    if (rejection === undefined) continue;
    plugins.add(filter.name);
    for (const reason of rejection.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    return false;
  }
  return true;
}

function score(pod: PodInfo, nodes: readonly NodeInfo[], plugins: readonly ScorePlugin[]): number[] {
  const totals = new Array<number>(nodes.length).fill(0);
  for (const plugin of plugins) {
    if (plugin.relevant !== undefined && !plugin.relevant(pod)) continue;
    const scores = nodes.map((node) => plugin.score(pod, node));
    plugin.normalize?.(scores);
    for (let i = 0; i < scores.length; i++) totals[i] = (totals[i] ?? 0) + plugin.weight * (scores[i] ?? 0);
  }
  return totals;
}
