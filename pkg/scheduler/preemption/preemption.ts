/** Finds less important pods to evict for a pod that fits nowhere; rules of release 1.24 (DefaultPreemption). */
import type { Cluster, CountPart } from '#scheduler/cluster/cluster.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { Budget } from '#scheduler/cluster/objects.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Consultation } from '#scheduler/decision/extenders.js';
import { checkWithNominated } from '#scheduler/decision/nominated.js';
import type { PodFilters } from '#scheduler/decision/pod-filters.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { Extender, ProposedVictims } from '#scheduler/framework/extender.js';
import { FitError } from '#scheduler/framework/fit-error.js';
import type { PreemptionArgs, Rejection } from '#scheduler/framework/plugin.js';
import { type Candidate, cheapest, selectVictims, type Victims, victimsOf } from '#scheduler/preemption/victims.js';
import type { Nominator } from '#scheduler/queue/nominator.js';

export interface PreemptionOptions {
  readonly cluster: Cluster;
  readonly nominator: Nominator;
  readonly random: () => number;
}

/** The chosen candidate, or why there is none. `final`: the pod also loses its earlier nomination. */
export type Preempted = Candidate | { readonly message: string; readonly final: boolean };

/** The candidate nodes; `message`: why there are none. */
export interface Attempt {
  readonly candidates: readonly Candidate[];
  readonly message: string;
}

/** Chooses the cheapest candidate. `final`: as in Preempted. */
export function chooseCandidate({ candidates, message }: Attempt): Preempted {
  return cheapest(candidates) ?? { message, final: true };
}

/** A node with its victims, or the reason why evicting pods there does not help. */
interface NodeTrial {
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

  /** For a pod that currently fits on no node. */
  find(pod: PodInfo, filters: PodFilters, args: PreemptionArgs): Preempted {
    const ineligible = this.ineligible(pod, filters);
    return ineligible === undefined
      ? chooseCandidate(this.attempt(pod, filters, args))
      : { message: ineligible, final: false };
  }

  /** For an eligible pod. `hopeless`: names of nodes where eviction cannot help; `counted` measures. */
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

  /** Like `attempt`, one node per step, for callers that inspect the trials or take turns. */
  *steps(
    pod: PodInfo,
    filters: PodFilters,
    args: PreemptionArgs,
    hopeless: ReadonlySet<string> = none,
    counted?: CountPart,
  ): Generator<NodeTrial, Attempt> {
    const { cluster, random } = this.#options;
    const nodes = cluster.nodes();
    const promising = nodes.filter((node) => !hopeless.has(node.name) && canHelp(node, filters));
    const refusals = new Map<Refusal, number>();
    if (nodes.length > promising.length) refusals.set(notHelpful, nodes.length - promising.length);
    const enough = Math.max(
      args.minCandidateNodesAbsolute,
      Math.floor((promising.length * args.minCandidateNodesPercentage) / 100),
    );
    const budgets = cluster.objects.budgets();
    const trials = this.#trialsOf(pod, filters, budgets);
    const candidates: Candidate[] = [];
    const offset = Math.floor(random() * promising.length);
    let withoutViolation = false;
    for (let i = 0; i < promising.length && !(withoutViolation && candidates.length >= enough); i++) {
      const node = promising[(offset + i) % promising.length];
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

  /** Cached results, if they depend on single nodes only. */
  #trialsOf({ priority }: PodInfo, filters: PodFilters, budgets: readonly Budget[]): Trials | undefined {
    if (!filters.isLocal()) return undefined;
    const cachedTrials = this.#trials.get(filters);
    if (cachedTrials?.budgets === budgets && cachedTrials.priority === priority) return cachedTrials;
    const trials = new Trials(priority, budgets, this.#options.nominator);
    this.#trials.set(filters, trials);
    return trials;
  }

  /** Less important pods that lose their nomination to the node. */
  displaced(pod: PodInfo, node: string): readonly PodInfo[] {
    return this.#options.nominator.podsOn(node).filter(({ priority }) => priority < pod.priority);
  }

  /** Why the pod may not evict others now; undefined: it may. */
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
        // The plugins accept the pod without victims, so an extender refused it and eviction cannot help.
        return 'pods' in result && result.pods.length === 0 ? noVictim(node) : result;
      },
      counted,
    );
  }
}

/** Whether eviction can help: not if the node's refusal is unresolvable. */
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

/** Cached victims per node for pods of one kind and priority, valid until the node or a budget changes. */
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
    const entry = this.#results[slot];
    return entry?.generation === generation && this.#nominator.podsOn(name).length === 0 ? entry.result : undefined;
  }

  set({ generation, name, slot }: NodeInfo, result: Result): void {
    if (this.#nominator.podsOn(name).length === 0) this.#results[slot] = { generation, result };
  }
}

/** Lets extenders review the candidates in turn. Rejects if a required one fails. Rules of release 1.24. */
export async function reviewByExtenders(
  pod: PodInfo,
  candidates: readonly Candidate[],
  { extenders, onFailure, stop }: Consultation,
): Promise<readonly Candidate[]> {
  let remaining = candidates;
  for (const extender of extenders) {
    if (remaining.length === 0) break;
    if (extender.preempt === undefined) continue;
    const byName = new Map(remaining.map((candidate) => [candidate.node.name, candidate]));
    try {
      const proposed = await extender.preempt(pod, byName, stop);
      remaining = [...proposed].flatMap(([name, victims]) => candidateOf(byName.get(name), victims, extender));
    } catch (error) {
      if (!extender.ignorable || stop.aborted) throw error;
      onFailure(extender.name, 'preempt', error);
    }
  }
  return remaining;
}

function candidateOf(
  candidate: Candidate | undefined,
  { pods, violations }: ProposedVictims,
  { ignorable }: Extender,
): readonly Candidate[] {
  if (candidate === undefined) return [];
  if (pods.length > 0) return [{ node: candidate.node, victims: victimsOf(pods, violations) }];
  if (ignorable) return [];
  throw new Error(`expected at least one victim pod on node ${JSON.stringify(candidate.node.name)}`);
}
