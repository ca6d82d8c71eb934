/** Merges the hints of several resources into the best common one, as 1.24 does (topologymanager/policy.go). Pure. */
import type { ResourceHints, TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import { isNarrower, maskOf, type NumaMask, nodeCount } from '#nodeagent/allocation/topology/numa-mask.js';

/** A merged hint: which NUMA nodes all resources come from. */
export interface MergedHint extends TopologyHint {
  readonly nodes: NumaMask;
}

/** One list per resource. A resource that fits nowhere has one hint, without nodes and not preferred. */
export function resourceHints(providers: readonly ResourceHints[]): (readonly TopologyHint[])[] {
  return providers.flatMap((hints) =>
    [...hints.values()].map((list) => (list.length === 0 ? [{ preferred: false }] : list)),
  );
}

/**
 * The best hint among all combinations of one hint per resource: a combination stands for the nodes that its hints
 * share, and is preferred if all its hints are preferred and equal. Instead of all combinations, whose number is
 * exponential, this keeps the different results of them.
 */
export function mergeHints(allNodes: readonly number[], lists: readonly (readonly TopologyHint[])[]): MergedHint {
  const everywhere = maskOf(allNodes);
  const idealCount = widestMinimum(lists);
  const candidates = [
    ...uniformNodes(everywhere, lists).map((nodes) => ({ nodes, preferred: true })),
    ...[...sharedNodes(everywhere, lists)].map((nodes) => ({ nodes, preferred: false })),
  ];
  return (
    candidates
      .filter(({ nodes }) => nodes !== 0n)
      .reduce<MergedHint | undefined>(
        (best, candidate) => (best === undefined || isBetter(candidate, best, idealCount) ? candidate : best),
        undefined,
      ) ?? { nodes: everywhere, preferred: false }
  );
}

/** The largest of the resources' smallest numbers of nodes: the least that any combination needs. */
function widestMinimum(lists: readonly (readonly TopologyHint[])[]): number {
  const minima = lists.flatMap((hints) => {
    const counts = hints.flatMap(({ nodes }) => (nodes === undefined ? [] : [nodeCount(nodes)]));
    return counts.length === 0 ? [] : [Math.min(...counts)];
  });
  return Math.max(0, ...minima);
}

/** The nodes of combinations of preferred, equal hints. */
function uniformNodes(everywhere: NumaMask, lists: readonly (readonly TopologyHint[])[]): NumaMask[] {
  const preferred = lists.map((hints) => hints.filter(({ preferred }) => preferred));
  // One of the lists without the alternative "any nodes" limits the choice.
  const fixed = preferred.find((hints) => hints.every(({ nodes }) => nodes !== undefined));
  const choices = fixed ?? preferred.flat();
  const allows = (mask: NumaMask) =>
    preferred.every((hints) => hints.some(({ nodes }) => nodes === undefined || nodes === mask));
  const masks = new Set(choices.flatMap(({ nodes }) => (nodes === undefined || !allows(nodes) ? [] : [nodes])));
  return [...(fixed === undefined ? [everywhere] : []), ...[...masks].map((mask) => mask & everywhere)];
}

/** The nodes of all combinations. */
function sharedNodes(everywhere: NumaMask, lists: readonly (readonly TopologyHint[])[]): ReadonlySet<NumaMask> {
  let shared: ReadonlySet<NumaMask> = new Set([everywhere]);
  for (const hints of lists) {
    const next = new Set<NumaMask>();
    for (const before of shared) for (const { nodes = everywhere } of hints) next.add(before & nodes);
    shared = next;
  }
  return shared;
}

/**
 * Preferred hints first, then narrow ones. Of those that are not preferred, the ideal number of nodes is best, then
 * more nodes up to that number, then fewer beyond it.
 */
function isBetter(a: MergedHint, b: MergedHint, idealCount: number): boolean {
  if (a.preferred !== b.preferred) return a.preferred;
  if (!a.preferred) {
    const [left, right] = [nodeCount(a.nodes), nodeCount(b.nodes)];
    if (left !== right && (left <= idealCount || right <= idealCount)) {
      if (left > idealCount || right > idealCount) return left <= idealCount;
      return left > right;
    }
  }
  return isNarrower(a.nodes, b.nodes);
}
