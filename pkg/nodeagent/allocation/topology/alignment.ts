/** Decides by policy whether the resources of a container or pod are aligned to NUMA nodes. Pure. */
import type { TopologyHint } from '#nodeagent/allocation/topology/hint.js';
import { type MergedHint, mergeHints, resourceHints } from '#nodeagent/allocation/topology/merge.js';
import { maskOf, nodeCount } from '#nodeagent/allocation/topology/numa-mask.js';

export type TopologyPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

interface AlignmentOptions {
  readonly policy: TopologyPolicy;
  /** IDs of the machine's NUMA nodes. */
  readonly nodes: readonly number[];
}

/** The merged hint of all providers, and whether the policy admits it. Pure. */
export function alignment(
  { policy, nodes }: AlignmentOptions,
  hints: Parameters<typeof resourceHints>[0],
): { readonly hint: TopologyHint; readonly isAdmitted: boolean } {
  const lists = resourceHints(hints);
  if (policy !== 'single-numa-node') {
    const hint = mergeHints(nodes, lists);
    return { hint, isAdmitted: policy !== 'restricted' || hint.preferred };
  }
  const merged: MergedHint = mergeHints(nodes, lists.map(onSingleNode));
  const hint = merged.nodes === maskOf(nodes) ? { preferred: merged.preferred } : merged;
  return { hint, isAdmitted: hint.preferred };
}

function onSingleNode(hints: readonly TopologyHint[]): TopologyHint[] {
  return hints.filter(({ nodes, preferred }) => preferred && (nodes === undefined || nodeCount(nodes) === 1));
}
