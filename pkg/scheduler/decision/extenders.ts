/** Calls extenders during a decision; rules of release 1.24. */
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import type { Refusal } from '#scheduler/decision/prepared-filter.js';
import type { Extender, ExtenderPoint, ExtenderVerdict } from '#scheduler/framework/extender.js';

/** Receives failures of extenders that the decision ignores. */
export type ExtenderFailure = (extender: string, point: ExtenderPoint, error: unknown) => void;

export interface Consultation {
  readonly extenders: readonly Extender[];
  readonly stop: AbortSignal;
  readonly onFailure: ExtenderFailure;
}

/** The extenders that are interested in the pod: the required (not ignorable) ones first. */
export function interestedIn(pod: PodInfo, extenders: readonly Extender[]): readonly Extender[] {
  if (extenders.length === 0) return extenders;
  const interested = extenders.filter((extender) => extender.isInterested(pod));
  return [...interested.filter(({ ignorable }) => !ignorable), ...interested.filter(({ ignorable }) => ignorable)];
}

/** Limit of distinct reasons per extender, since the reasons are shown to users and written at each attempt. */
const maxReasons = 16;

export interface Filtered {
  readonly feasible: readonly NodeInfo[];
  /** Why extenders refused the other nodes. */
  readonly refusals: ReadonlyMap<NodeInfo, Refusal>;
}

/** Calls the extenders in turn, each with the nodes that the previous ones left. Rejects if a required one fails. */
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
    const refusalsByReason = new Map<string, Refusal>();
    const passed: NodeInfo[] = [];
    for (const node of feasible) {
      if (verdict.passed.has(node.name)) passed.push(node);
      else refusals.set(node, refusalOf(extender.name, node.name, verdict, refusalsByReason));
    }
    feasible = passed;
  }
  return { feasible, refusals };
}

/** Names of the nodes where evicting pods cannot help. */
export function unresolvableNodes(refusals: Iterable<readonly [NodeInfo, Refusal]>): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [{ name }, { rejection }] of refusals) if (rejection.unresolvable === true) names.add(name);
  return names;
}

/** `refusalsByReason`: earlier refusals, so that equal ones are the same object. */
function refusalOf(
  plugin: string,
  node: string,
  { failed, unresolvable }: ExtenderVerdict,
  refusalsByReason: Map<string, Refusal>,
): Refusal {
  const final = unresolvable.get(node);
  const isFinal = final !== undefined;
  const reason = final ?? failed.get(node) ?? `node(s) left out by extender ${plugin}`;
  const isFurther = refusalsByReason.size >= maxReasons && !refusalsByReason.has(`${isFinal} ${reason}`);
  const shownReason = isFurther ? `node(s) refused by extender ${plugin} for further reasons` : reason;
  const key = `${isFinal} ${shownReason}`;
  const earlier = refusalsByReason.get(key);
  if (earlier !== undefined) return earlier;
  const refusal = {
    plugin,
    rejection: { reasons: [shownReason], ...(isFinal ? { unresolvable: true as const } : {}) },
  };
  refusalsByReason.set(key, refusal);
  return refusal;
}

/** Node → sum of the extenders' scores. They are called concurrently; a failed one adds nothing. */
export async function ranksOfExtenders(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  { extenders, onFailure, stop }: Consultation,
): Promise<ReadonlyMap<string, number>> {
  const ranks = new Map<string, number>();
  const calls = extenders.map(async (extender) => {
    if (extender.prioritize === undefined) return;
    try {
      const scores = await extender.prioritize(pod, nodes, stop);
      for (const [node, score] of scores) ranks.set(node, (ranks.get(node) ?? 0) + score);
    } catch (error) {
      stop.throwIfAborted();
      onFailure(extender.name, 'prioritize', error);
    }
  });
  await Promise.all(calls);
  return ranks;
}
