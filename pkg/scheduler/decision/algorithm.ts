/** One scheduling decision: pure but for the position from which nodes are looked at next time. */
import type { Clock } from '#apimachinery/clock.js';
import type { Cluster } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import { checkWithNominated } from '#scheduler/decision/nominated.js';
import { type Plan, Plans } from '#scheduler/decision/plans.js';
import type { PodFilters } from '#scheduler/decision/pod-filters.js';
import type { MeasureFilter, Refusal } from '#scheduler/decision/prepared-filter.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import type { Rejection } from '#scheduler/framework/plugin.js';
import type { Profile } from '#scheduler/framework/profile.js';
import {
  type ExtensionPoint,
  type PluginRecorder,
  type PluginStatus,
  sampledNodes,
} from '#scheduler/metrics/metrics.js';
import type { Nominator } from '#scheduler/queue/nominator.js';

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

export interface AlgorithmOptions {
  readonly cluster: Cluster;
  readonly nominator: Nominator;
  readonly random: () => number;
  /** 0 or absent leaves it to the size of the cluster. */
  readonly percentageOfNodesToScore?: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly times: DecisionTimes;
}

export class Algorithm {
  readonly #options: AlgorithmOptions;
  readonly #plans: Plans;
  /** Rotates, so that a sample of a large cluster is not always its beginning. */
  #next = 0;

  constructor(options: AlgorithmOptions) {
    this.#options = options;
    this.#plans = new Plans(options.cluster);
  }

  /** What the plugins have worked out for the pod. */
  plan(pod: PodInfo, profile: Profile): Plan {
    return this.#plans.of(pod, profile);
  }

  /** Picks the node; throws a FitError when none fits. */
  schedule(pod: PodInfo, profile: Profile): Decision {
    const { clock, times } = this.#options;
    const recorder = times.pluginRecorder();
    let started = clock.monotonic();
    const took = (point: ExtensionPoint, status: PluginStatus) => {
      const now = clock.monotonic();
      times.extensionPoint(point, status, profile.schedulerName, now - started);
      started = now;
    };
    const plan = this.plan(pod, profile);
    took('PreFilter', plan.filters.refusal === undefined ? 'Success' : 'UnschedulableAndUnresolvable');
    const { feasible, evaluated, refusals } = this.#filter(pod, plan.filters, recorder);
    took('Filter', feasible.length === 0 ? 'Unschedulable' : 'Success');
    if (feasible.length === 0) throw new FitError(this.#options.cluster.nodes().length, refusals);
    let best = 0;
    if (feasible.length > 1) {
      best = this.#best(this.#totals(plan, feasible, recorder));
      took('Score', 'Success');
    }
    const node = feasible[best];
    if (node === undefined) throw new Error(`no node at ${best} of ${feasible.length}`);
    return { node, evaluatedNodes: evaluated, feasibleNodes: feasible.length };
  }

  #filter(pod: PodInfo, filters: PodFilters, recorder: PluginRecorder | undefined) {
    const { cluster, nominator, percentageOfNodesToScore } = this.#options;
    const nodes = filters.nodeNames === undefined ? cluster.nodes() : named(cluster, filters.nodeNames);
    const refusals = new Map<Refusal, number>();
    const feasible: NodeInfo[] = [];
    let evaluated = 0;
    if (filters.refusal !== undefined) {
      refusals.set(filters.refusal, cluster.nodes().length);
      return { feasible, evaluated, refusals };
    }
    const measure = recorder === undefined ? undefined : this.#measure(recorder);
    const check = (node: NodeInfo) => {
      const measured = evaluated <= sampledNodes ? measure : undefined;
      return checkWithNominated(cluster, nominator, filters, pod, node, () => filters.check(node, measured));
    };
    // Room was made for the pod there: if it fits, there is no more to look at.
    const nominated = cluster.node(nominator.nodeOf(pod.uid) ?? '');
    if (nominated !== undefined && check(nominated) === undefined) {
      return { feasible: [nominated], evaluated: 1, refusals };
    }
    const enough = feasibleNodesToFind(nodes.length, percentageOfNodesToScore);
    const start = nodes.length === 0 ? 0 : this.#next % nodes.length;
    while (evaluated < nodes.length && feasible.length < enough) {
      const index = start + evaluated++;
      const node = nodes[index < nodes.length ? index : index - nodes.length];
      if (node === undefined) continue;
      const refusal = check(node);
      if (refusal === undefined) feasible.push(node);
      else refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1);
    }
    this.#next = nodes.length === 0 ? 0 : (start + evaluated) % nodes.length;
    return { feasible, evaluated, refusals };
  }

  #totals(plan: Plan, nodes: readonly NodeInfo[], recorder: PluginRecorder | undefined): Float64Array {
    const { clock, cluster } = this.#options;
    if (recorder === undefined) return plan.scores.totals(nodes, cluster.slots);
    const measure = (plugin: string, run: () => number) => {
      const started = clock.monotonic();
      const score = run();
      recorder.executed(plugin, 'Score', 'Success', clock.monotonic() - started);
      return score;
    };
    return plan.scores.totals(nodes, cluster.slots, { measure });
  }

  #measure(recorder: PluginRecorder): MeasureFilter {
    const { clock } = this.#options;
    return (plugin, run) => {
      const started = clock.monotonic();
      const rejection = run();
      recorder.executed(plugin, 'Filter', statusOf(rejection), clock.monotonic() - started);
      return rejection;
    };
  }

  /** Index of the highest total; among equals one at random. */
  #best(totals: Float64Array): number {
    let best = 0;
    let ties = 1;
    for (let i = 1; i < totals.length; i++) {
      const difference = (totals[i] ?? 0) - (totals[best] ?? 0);
      if (difference > 0) {
        best = i;
        ties = 1;
      } else if (difference === 0) {
        ties++;
      }
    }
    // One random number for all: most nodes of a large cluster are equal.
    for (let skip = Math.floor(this.#options.random() * ties); skip > 0; skip--) {
      best = totals.indexOf(totals[best] ?? 0, best + 1);
    }
    return best;
  }
}

function named(cluster: Cluster, names: ReadonlySet<string>): NodeInfo[] {
  return [...names].flatMap((name) => cluster.node(name) ?? []);
}

function statusOf(rejection: Rejection | undefined): PluginStatus {
  if (rejection === undefined) return 'Success';
  return rejection.unresolvable === true ? 'UnschedulableAndUnresolvable' : 'Unschedulable';
}
