/** The part of extenders in a decision. Rules of release 1.24. */
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { Extender, ExtenderPoint, ExtenderVerdict } from '#scheduler/framework/extender.js';

/** Hears of what an extender did wrong where the decision goes on without it. */
export type ExtenderFailure = (extender: string, point: ExtenderPoint, error: unknown) => void;

export interface Consultation {
  readonly extenders: readonly Extender[];
  readonly stop: AbortSignal;
  readonly onFailure: ExtenderFailure;
}

/** Those that have a say about the pod, the ignorable ones last. */
export function interestedIn(pod: PodInfo, extenders: readonly Extender[]): readonly Extender[] {
  if (extenders.length === 0) return extenders;
  const interested = extenders.filter((extender) => extender.isInterested(pod));
  return [...interested.filter(({ ignorable }) => !ignorable), ...interested.filter(({ ignorable }) => ignorable)];
}

/** So many reasons of one extender are told apart: what is told of a pod is to be read, and written at each try. */
const mostReasons = 16;

export interface Filtered {
  readonly feasible: readonly NodeInfo[];
  /** What extenders said of the others. */
  readonly refusals: ReadonlyMap<NodeInfo, Refusal>;
}

/**
 * Asks one after the other about what the ones before left over. Rejects when one fails that is not ignorable: without
 * it there is no decision.
 */
export async function filterByExtenders(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  { extenders, onFailure, stop }: Consultation,
): Promise<Filtered> {
  const refusals = new Map<NodeInfo, Refusal>();
  let feasible = nodes;
  for (const extender of extenders) {
    if (feasible.length === 0) break;
    if (extender.filter === undefined) continue;
    let verdict: ExtenderVerdict;
    try {
      verdict = await extender.filter(pod, feasible, stop);
    } catch (error) {
      if (!extender.ignorable || stop.aborted) throw error;
      onFailure(extender.name, 'filter', error);
      continue;
    }
    const known = new Map<string, Refusal>();
    const left: NodeInfo[] = [];
    for (const node of feasible) {
      if (verdict.passed.has(node.name)) left.push(node);
      else refusals.set(node, refusalOf(extender.name, node.name, verdict, known));
    }
    feasible = left;
  }
  return { feasible, refusals };
}

/** Names of those where evicting pods would change nothing. */
export function hopelessNodes(refusals: Iterable<readonly [NodeInfo, Refusal]>): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [{ name }, { rejection }] of refusals) if (rejection.unresolvable === true) names.add(name);
  return names;
}

/** `known`: refusals that were made before, since equal ones are to be the same. */
function refusalOf(
  plugin: string,
  node: string,
  { failed, unresolvable }: ExtenderVerdict,
  known: Map<string, Refusal>,
): Refusal {
  const final = unresolvable.get(node);
  const isFinal = final !== undefined;
  const reason = final ?? failed.get(node) ?? `node(s) left out by extender ${plugin}`;
  const isFurther = known.size >= mostReasons && !known.has(`${isFinal} ${reason}`);
  const told = isFurther ? `node(s) refused by extender ${plugin} for further reasons` : reason;
  const key = `${isFinal} ${told}`;
  const earlier = known.get(key);
  if (earlier !== undefined) return earlier;
  const refusal = { plugin, rejection: { reasons: [told], ...(isFinal ? { unresolvable: true as const } : {}) } };
  known.set(key, refusal);
  return refusal;
}

/** Node → what extenders add to its total. All are asked at once; one that fails adds nothing. */
export async function ranksOfExtenders(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  { extenders, onFailure, stop }: Consultation,
): Promise<ReadonlyMap<string, number>> {
  const ranks = new Map<string, number>();
  const asked = extenders.map(async (extender) => {
    if (extender.prioritize === undefined) return;
    try {
      const scores = await extender.prioritize(pod, nodes, stop);
      for (const [node, score] of scores) ranks.set(node, (ranks.get(node) ?? 0) + score);
    } catch (error) {
      stop.throwIfAborted();
      onFailure(extender.name, 'prioritize', error);
    }
  });
  await Promise.all(asked);
  return ranks;
}
