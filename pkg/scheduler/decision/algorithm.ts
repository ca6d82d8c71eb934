/** Makes one scheduling decision. Its only state is the position where the next node search starts. */
import type { Clock } from '#apimachinery/clock.js';
import type { Cluster, CountPart } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import {
  type Consultation,
  filterByExtenders,
  ranksOfExtenders,
  unresolvableNodes,
} from '#scheduler/decision/extenders.js';
import { type MeasureStep, measureExtensions, measureSteps } from '#scheduler/decision/measure-step.js';
import { checkWithNominated } from '#scheduler/decision/nominated.js';
import { type Plan, Plans } from '#scheduler/decision/plans.js';
import type { PodFilters } from '#scheduler/decision/pod-filters.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import type { Profile } from '#scheduler/framework/profile.js';
import {
  type ExtensionPoint,
  type PluginRecorder,
  type PluginStatus,
  sampledNodes,
} from '#scheduler/metrics/metrics.js';
import type { Nominator } from '#scheduler/queue/nominator.js';

/** Clusters up to this size are always searched completely. */
const minFeasibleNodes = 100;
const minFeasiblePercentage = 5;

/**
 * How many fitting nodes end the search, as in release 1.24: the configured percentage, or by default 50 percent less 1
 * percent per 125 nodes but at least 5 percent; always at least 100 nodes.
 */
export function feasibleNodesToFind(nodeCount: number, configuredPercentage = 0): number {
  if (nodeCount < minFeasibleNodes || configuredPercentage >= 100) return nodeCount;
  const adaptive = Math.max(minFeasiblePercentage, 50 - Math.floor(nodeCount / 125));
  const percentage = configuredPercentage === 0 ? adaptive : configuredPercentage;
  return Math.max(minFeasibleNodes, Math.floor((nodeCount * percentage) / 100));
}

export interface Decision {
  readonly node: NodeInfo;
  readonly evaluatedNodes: number;
  readonly feasibleNodes: number;
}

/** Receives the durations of decisions. */
export interface DecisionTimes {
  extensionPoint(point: ExtensionPoint, status: PluginStatus, profile: string, durationMs: number): void;
  /** Undefined if the decision's plugins are not measured. */
  pluginRecorder(): PluginRecorder | undefined;
}

/** Result of the filters. */
interface FilterResult {
  readonly feasible: readonly NodeInfo[];
  readonly evaluated: number;
  readonly refusals: Map<Refusal, number>;
}

/** Measurements of one decision. */
interface Cycle {
  /** Undefined if plugins are not measured. */
  readonly step: MeasureStep | undefined;
  /** Undefined if plugins are not measured. */
  readonly counted: CountPart | undefined;
  /** Records the time since the previous point or restart. */
  record(point: ExtensionPoint, status: PluginStatus): void;
  restart(): void;
}

export interface AlgorithmOptions {
  readonly cluster: Cluster;
  readonly nominator: Nominator;
  readonly random: () => number;
  /** 0 or absent: depends on the size of the cluster. */
  readonly percentageOfNodesToScore?: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly times: DecisionTimes;
}

export class Algorithm {
  readonly #options: AlgorithmOptions;
  readonly #plans: Plans;
  /** Where the next search starts; rotates so that samples cover the whole cluster. */
  #next = 0;

  constructor(options: AlgorithmOptions) {
    this.#options = options;
    this.#plans = new Plans(options.cluster);
  }

  /** The plugins' prepared state for the pod. */
  plan(pod: PodInfo, profile: Profile): Plan {
    return this.#plans.begin(pod, profile);
  }

  /** Chooses a node; throws a FitError if none fits. */
  schedule(pod: PodInfo, profile: Profile): Decision {
    const cycle = this.#begin(profile);
    const { plan, filtered } = this.#find(pod, profile, cycle);
    if (filtered.feasible.length === 0) throw this.#noFit(filtered.refusals);
    return this.#choose(plan, filtered, cycle);
  }

  /**
   * Like `schedule`, with the extenders that are interested in the pod. Rejects with a FitError if no node is left, and
   * with another Error if an extender fails that is not ignorable.
   */
  async scheduleWith(consultation: Consultation, pod: PodInfo, profile: Profile): Promise<Decision> {
    const cycle = this.#begin(profile);
    const { filtered } = this.#find(pod, profile, cycle);
    const { evaluated, refusals } = filtered;
    if (filtered.feasible.length === 0) throw this.#noFit(refusals);
    const { feasible, refusals: foreign } = await filterByExtenders(pod, filtered.feasible, consultation);
    for (const refusal of foreign.values()) count(refusals, refusal);
    const ranks = feasible.length > 1 ? await ranksOfExtenders(pod, feasible, consultation) : undefined;
    // Nodes may have come, gone or filled up while the extenders answered.
    const plan = this.plan(pod, profile);
    const current = feasible.filter((node) => {
      if (this.#options.cluster.node(node.name) !== node) return false;
      const refusal = plan.filters.refusal ?? this.#check(pod, plan.filters, node);
      if (refusal !== undefined) count(refusals, refusal);
      return refusal === undefined;
    });
    if (current.length === 0) throw this.#noFit(refusals, unresolvableNodes(foreign));
    cycle.restart();
    return this.#choose(plan, { feasible: current, evaluated }, cycle, ranks);
  }

  #begin({ filters, schedulerName }: Profile): Cycle {
    const { clock, times } = this.#options;
    const step = measureSteps(times.pluginRecorder(), clock);
    let started = clock.monotonic();
    return {
      step,
      counted: measureExtensions(step, filters),
      record(point, status) {
        const now = clock.monotonic();
        times.extensionPoint(point, status, schedulerName, now - started);
        started = now;
      },
      restart() {
        started = clock.monotonic();
      },
    };
  }

  #find(pod: PodInfo, profile: Profile, { counted, step, record }: Cycle): { plan: Plan; filtered: FilterResult } {
    const plan = this.#plans.begin(pod, profile, step);
    record('PreFilter', plan.filters.refusal === undefined ? 'Success' : 'UnschedulableAndUnresolvable');
    const filtered = this.#filter(pod, plan.filters, step, counted);
    record('Filter', filtered.feasible.length === 0 ? 'Unschedulable' : 'Success');
    return { plan, filtered };
  }

  #noFit(refusals: ReadonlyMap<Refusal, number>, unresolvableNodes?: ReadonlySet<string>): FitError {
    return new FitError(this.#options.cluster.nodes().length, refusals, unresolvableNodes);
  }

  /** `ranks`: scores of the extenders by node. */
  #choose(
    plan: Plan,
    { evaluated, feasible }: Pick<FilterResult, 'feasible' | 'evaluated'>,
    cycle: Cycle,
    ranks?: ReadonlyMap<string, number>,
  ): Decision {
    let best = 0;
    if (feasible.length > 1) {
      const totals = this.#totals(plan, feasible, cycle);
      if (ranks !== undefined) {
        for (const [i, { name }] of feasible.entries()) totals[i] = (totals[i] ?? 0) + (ranks.get(name) ?? 0);
      }
      best = this.#best(totals);
      cycle.record('Score', 'Success');
    }
    const node = feasible[best];
    if (node === undefined) throw new Error(`no node at ${best} of ${feasible.length}`);
    return { node, evaluatedNodes: evaluated, feasibleNodes: feasible.length };
  }

  #check(
    pod: PodInfo,
    filters: PodFilters,
    node: NodeInfo,
    step?: MeasureStep,
    counted?: CountPart,
  ): Refusal | undefined {
    const { cluster, nominator } = this.#options;
    return checkWithNominated(cluster, nominator, filters, pod, node, () => filters.check(node, step), counted);
  }

  #filter(
    pod: PodInfo,
    filters: PodFilters,
    step: MeasureStep | undefined,
    counted: CountPart | undefined,
  ): FilterResult {
    const { cluster, nominator, percentageOfNodesToScore } = this.#options;
    const nodes = filters.nodeNames === undefined ? cluster.nodes() : nodesNamed(cluster, filters.nodeNames);
    const refusals = new Map<Refusal, number>();
    const feasible: NodeInfo[] = [];
    let evaluated = 0;
    if (filters.refusal !== undefined) {
      refusals.set(filters.refusal, cluster.nodes().length);
      return { feasible, evaluated, refusals };
    }
    const check = (node: NodeInfo) =>
      evaluated <= sampledNodes ? this.#check(pod, filters, node, step, counted) : this.#check(pod, filters, node);
    // Preemption made room for the pod on its nominated node: if the pod fits there, stop.
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
      else count(refusals, refusal);
    }
    this.#next = nodes.length === 0 ? 0 : (start + evaluated) % nodes.length;
    return { feasible, evaluated, refusals };
  }

  #totals(plan: Plan, nodes: readonly NodeInfo[], { step, record }: Cycle): Float64Array {
    return plan.scores.totals(nodes, this.#options.cluster.slots, { begun: () => record('PreScore', 'Success'), step });
  }

  /** Index of the highest total; a random one among equals. */
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
    // One random number for all ties: most nodes of a large cluster are equal.
    for (let skip = Math.floor(this.#options.random() * ties); skip > 0; skip--) {
      best = totals.indexOf(totals[best] ?? 0, best + 1);
    }
    return best;
  }
}

function count(refusals: Map<Refusal, number>, refusal: Refusal): void {
  refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1);
}

function nodesNamed(cluster: Cluster, names: ReadonlySet<string>): NodeInfo[] {
  return [...names].flatMap((name) => cluster.node(name) ?? []);
}
