/** One scheduling decision: pure but for the position from which nodes are looked at next time. */
import type { Clock } from '#apimachinery/clock.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import type { NodeInfo } from '#scheduler/framework/node-info.js';
import type { FilterPlugin, Rejection, ScorePlugin } from '#scheduler/framework/plugin.js';
import type { PodInfo } from '#scheduler/framework/pod-info.js';
import type { ExtensionPoint, PluginRecorder, PluginStatus } from '#scheduler/metrics/metrics.js';
import type { Profile } from '#scheduler/plugins/default-profile.js';

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

/** Where the times of decisions go. */
export interface DecisionTimes {
  extensionPoint(point: ExtensionPoint, status: PluginStatus, profile: string, durationMs: number): void;
  /** Undefined for decisions whose plugins are not measured. */
  pluginRecorder(): PluginRecorder | undefined;
}

export class Algorithm {
  readonly #random: () => number;
  readonly #percentage: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #times: DecisionTimes;
  /** Rotates, so that a sample of a large cluster is not always its beginning. */
  #next = 0;

  /** `percentageOfNodesToScore`: 0 or absent leaves it to the size of the cluster. */
  constructor(options: {
    random: () => number;
    percentageOfNodesToScore?: number;
    clock: Pick<Clock, 'monotonic'>;
    times: DecisionTimes;
  }) {
    this.#random = options.random;
    this.#clock = options.clock;
    this.#times = options.times;
    this.#percentage = options.percentageOfNodesToScore ?? 0;
  }

  /** Picks the node; throws a FitError when none fits. */
  schedule(pod: PodInfo, nodes: readonly NodeInfo[], profile: Profile): Decision {
    const recorder = this.#times.pluginRecorder();
    const { feasible, evaluated } = this.#filter(pod, nodes, profile, recorder);
    const best = feasible.length === 1 ? 0 : this.#best(this.#score(pod, feasible, profile, recorder));
    const node = feasible[best];
    if (node === undefined) throw new FitError(nodes.length, new Map(), new Set());
    return { node, evaluatedNodes: evaluated, feasibleNodes: feasible.length };
  }

  #score(
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    { scores, schedulerName }: Profile,
    recorder: PluginRecorder | undefined,
  ): number[] {
    const started = this.#clock.monotonic();
    const measured = recorder === undefined ? scores : scores.map((plugin) => this.#measuredScore(plugin, recorder));
    const totals = score(pod, nodes, measured);
    this.#times.extensionPoint('Score', 'Success', schedulerName, this.#clock.monotonic() - started);
    return totals;
  }

  #filter(
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    profile: Profile,
    recorder: PluginRecorder | undefined,
  ): { feasible: NodeInfo[]; evaluated: number } {
    const started = this.#clock.monotonic();
    const filters =
      recorder === undefined ? profile.filters : profile.filters.map((each) => this.#measuredFilter(each, recorder));
    const enough = feasibleNodesToFind(nodes.length, this.#percentage);
    const feasible: NodeInfo[] = [];
    const reasons = new Map<string, number>();
    const plugins = new Set<string>();
    let evaluated = 0;
    while (evaluated < nodes.length && feasible.length < enough) {
      const node = nodes[(this.#next + evaluated) % nodes.length];
      evaluated++;
      if (node === undefined) continue;
      if (!fits(pod, node, filters, reasons, plugins)) continue;
      feasible.push(node);
    }
    this.#next = nodes.length === 0 ? 0 : (this.#next + evaluated) % nodes.length;
    const status = feasible.length === 0 ? 'Unschedulable' : 'Success';
    this.#times.extensionPoint('Filter', status, profile.schedulerName, this.#clock.monotonic() - started);
    if (feasible.length === 0) throw new FitError(nodes.length, reasons, plugins);
    return { feasible, evaluated };
  }

  #measuredFilter(plugin: FilterPlugin, recorder: PluginRecorder): FilterPlugin {
    const clock = this.#clock;
    return {
      name: plugin.name,
      events: plugin.events,
      filter(pod, node) {
        const started = clock.monotonic();
        const rejection = plugin.filter(pod, node);
        recorder.executed(plugin.name, 'Filter', statusOf(rejection), clock.monotonic() - started);
        return rejection;
      },
    };
  }

  #measuredScore(plugin: ScorePlugin, recorder: PluginRecorder): ScorePlugin {
    const clock = this.#clock;
    return {
      ...plugin,
      score(pod, node) {
        const started = clock.monotonic();
        const points = plugin.score(pod, node);
        recorder.executed(plugin.name, 'Score', 'Success', clock.monotonic() - started);
        return points;
      },
    };
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

function statusOf(rejection: Rejection | undefined): PluginStatus {
  if (rejection === undefined) return 'Success';
  return rejection.unresolvable === true ? 'UnschedulableAndUnresolvable' : 'Unschedulable';
}

function fits(
  pod: PodInfo,
  node: NodeInfo,
  filters: readonly FilterPlugin[],
  reasons: Map<string, number>,
  plugins: Set<string>,
): boolean {
  for (const filter of filters) {
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
