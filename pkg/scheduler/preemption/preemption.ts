/** Makes room for a pod that fits nowhere by evicting less important ones. Rules of release 1.24 (DefaultPreemption). */
import type { Cluster, CountPart } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { Budget } from '#scheduler/cluster/objects.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import { checkWithNominated } from '#scheduler/decision/nominated.js';
import type { PodFilters } from '#scheduler/decision/pod-filters.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import type { PreemptionArgs, Rejection } from '#scheduler/framework/plugin.js';
import { type Candidate, leastMissed } from '#scheduler/preemption/choice.js';
import { selectVictims, type Victims } from '#scheduler/preemption/victims.js';
import type { Nominator } from '#scheduler/queue/nominator.js';

export interface PreemptionOptions {
  readonly cluster: Cluster;
  readonly nominator: Nominator;
  readonly random: () => number;
}

/** A node to wait for, once its victims are gone; or why there is none. `final`: nor is an earlier one left. */
export type Preempted = Candidate | { readonly message: string; readonly final: boolean };

/** The nodes that would do; and why none would, if there are none. */
export interface Attempt {
  readonly candidates: readonly Candidate[];
  readonly message: string;
}

/** The best of them. `final` as of Preempted. */
export function chosen({ candidates, message }: Attempt): Preempted {
  return leastMissed(candidates) ?? { message, final: true };
}

/** A node and whose eviction would make room there; or why none would. */
interface Tried {
  readonly node: NodeInfo;
  readonly result: Victims | Rejection;
}

const none: ReadonlySet<string> = new Set();
const noVictim = ({ name: node }: NodeInfo): Rejection => ({
  reasons: [`expected at least one victim pod on node ${JSON.stringify(node)}`],
});

const name = 'DefaultPreemption';
const notHelpful: Refusal = {
  plugin: name,
  rejection: { reasons: ['Preemption is not helpful for scheduling'], unresolvable: true },
};

export class Preemption {
  readonly #options: PreemptionOptions;
  readonly #trials = new WeakMap<PodFilters, Trials>();

  constructor(options: PreemptionOptions) {
    this.#options = options;
  }

  /** For a pod that no node can take as they are. */
  find(pod: PodInfo, filters: PodFilters, args: PreemptionArgs): Preempted {
    const ineligible = this.ineligible(pod, filters);
    return ineligible === undefined ? chosen(this.attempt(pod, filters, args)) : { message: ineligible, final: false };
  }

  /** For a pod that may evict others. `hopeless`: names of nodes where that would not help; `counted` takes times. */
  attempt(
    pod: PodInfo,
    filters: PodFilters,
    args: PreemptionArgs,
    hopeless?: ReadonlySet<string>,
    counted?: CountPart,
  ): Attempt {
    const steps = this.steps(pod, filters, args, hopeless, counted);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  }

  /** The same, node by node, for those who want to see what is tried or cannot stay at it. */
  *steps(
    pod: PodInfo,
    filters: PodFilters,
    args: PreemptionArgs,
    hopeless: ReadonlySet<string> = none,
    counted?: CountPart,
  ): Generator<Tried, Attempt> {
    const { cluster, random } = this.#options;
    const nodes = cluster.nodes();
    const helpful = nodes.filter((node) => !hopeless.has(node.name) && canHelp(node, filters));
    const refusals = new Map<Refusal, number>();
    if (nodes.length > helpful.length) refusals.set(notHelpful, nodes.length - helpful.length);
    const wanted = Math.max(
      args.minCandidateNodesAbsolute,
      Math.floor((helpful.length * args.minCandidateNodesPercentage) / 100),
    );
    const budgets = cluster.objects.budgets();
    const trials = this.#trialsOf(pod, filters, budgets);
    const candidates: Candidate[] = [];
    const offset = Math.floor(random() * helpful.length);
    let withoutViolation = false;
    for (let i = 0; i < helpful.length && !(withoutViolation && candidates.length >= wanted); i++) {
      const node = helpful[(offset + i) % helpful.length];
      if (node === undefined) continue;
      const result = trials?.get(node) ?? this.#tryOn(node, pod, filters, budgets, counted);
      trials?.set(node, result);
      if ('reasons' in result) count(refusals, result);
      else {
        candidates.push({ node, victims: result });
        withoutViolation ||= result.violations === 0;
      }
      yield { node, result };
    }
    return { candidates, message: candidates.length > 0 ? '' : new FitError(nodes.length, refusals).message };
  }

  /** Remembered results, as long as they depend on single nodes. */
  #trialsOf({ priority }: PodInfo, filters: PodFilters, budgets: readonly Budget[]): Trials | undefined {
    if (!filters.isLocal()) return undefined;
    const kept = this.#trials.get(filters);
    if (kept?.budgets === budgets && kept.priority === priority) return kept;
    const trials = new Trials(priority, budgets, this.#options.nominator);
    this.#trials.set(filters, trials);
    return trials;
  }

  /** Waiting pods that must look for another node, since a more important one gets theirs. */
  displaced(pod: PodInfo, node: string): readonly PodInfo[] {
    return this.#options.nominator.on(node).filter(({ priority }) => priority < pod.priority);
  }

  /** Why the pod may not evict others, or not now; undefined: it may. */
  ineligible({ pod, priority }: PodInfo, filters: PodFilters): string | undefined {
    if (pod.spec.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.';
    const nominated = this.#options.cluster.node(pod.status?.nominatedNodeName ?? '');
    if (nominated === undefined || filters.check(nominated)?.rejection.unresolvable === true) return undefined;
    const leaving = [...nominated.pods.values()].some(
      (other) => other.pod.metadata.deletionTimestamp !== undefined && other.priority < priority,
    );
    return leaving ? 'not eligible due to a terminating pod on the nominated node.' : undefined;
  }

  #tryOn(
    node: NodeInfo,
    pod: PodInfo,
    filters: PodFilters,
    budgets: readonly Budget[],
    counted: CountPart | undefined,
  ): Victims | Rejection {
    const { cluster, nominator } = this.#options;
    return cluster.tentatively(
      node,
      (change) => {
        const check = () =>
          checkWithNominated(cluster, nominator, filters, pod, node, () => filters.checkTentative(node), counted);
        const result = selectVictims(pod, node, { ...change, check }, budgets);
        // Plugins would take the pod as things are: others refuse it, and nobody here stands in the way.
        return 'pods' in result && result.pods.length === 0 ? noVictim(node) : result;
      },
      counted,
    );
  }
}

/** Not when the node refuses the pod for a reason that no eviction changes. */
function canHelp(node: NodeInfo, filters: PodFilters): boolean {
  return filters.refusal?.rejection.unresolvable !== true && filters.check(node)?.rejection.unresolvable !== true;
}

function count(refusals: Map<Refusal, number>, rejection: Rejection): void {
  for (const [refusal, nodes] of refusals) {
    if (refusal.rejection !== rejection) continue;
    refusals.set(refusal, nodes + 1);
    return;
  }
  refusals.set({ plugin: name, rejection }, 1);
}

type Result = Victims | Rejection;

/** Whom pods of one kind and priority would evict from nodes: known until a node or a budget changes. */
class Trials {
  readonly priority: number;
  readonly budgets: readonly Budget[];
  readonly #nominator: Nominator;
  /** By slot. */
  readonly #results: ({ readonly generation: number; readonly result: Result } | undefined)[] = [];

  constructor(priority: number, budgets: readonly Budget[], nominator: Nominator) {
    this.priority = priority;
    this.budgets = budgets;
    this.#nominator = nominator;
  }

  get({ generation, name, slot }: NodeInfo): Result | undefined {
    const kept = this.#results[slot];
    return kept?.generation === generation && this.#nominator.on(name).length === 0 ? kept.result : undefined;
  }

  set({ generation, name, slot }: NodeInfo, result: Result): void {
    if (this.#nominator.on(name).length === 0) this.#results[slot] = { generation, result };
  }
}
