/** Possible placements of memory requests on NUMA nodes, as in 1.24 (memorymanager/policy_static.go). Pure. */
import type { NodeMemory } from '#nodeagent/allocation/memory/memory-state.js';
import type { MergedHint } from '#nodeagent/allocation/topology/merge.js';
import { isNarrower, type NumaMask, nodeCount, nodesOf, subsets } from '#nodeagent/allocation/topology/numa-mask.js';

/** Bytes by resource name. */
export type MemoryRequests = ReadonlyMap<string, number>;

/** What the init containers of the pod leave on exactly these nodes. */
export type ReusableMemory = (nodes: NumaMask, type: string) => number;

type Nodes = ReadonlyMap<number, NodeMemory>;

/** Sets of nodes with enough memory of all kinds; preferred are those that need no more nodes than an idle machine. */
export function memoryHints(nodes: Nodes, requests: MemoryRequests, reusable: ReusableMemory): MergedHint[] {
  const ids = [...nodes.keys()].sort((a, b) => a - b);
  let least = ids.length;
  const masks: NumaMask[] = [];
  for (const mask of subsets(ids)) {
    const group = nodesOf(mask);
    if (!hasEnough(nodes, group, requests, ({ allocatable }) => allocatable)) continue;
    least = Math.min(least, group.length);
    if (!mayGroup(nodes, group)) continue;
    const free = new Map([...requests].map(([type, size]) => [type, Math.max(0, size - reusable(mask, type))]));
    if (hasEnough(nodes, group, free, (table) => table.free)) masks.push(mask);
  }
  return masks.map((mask) => ({ nodes: mask, preferred: nodeCount(mask) === least }));
}

/** Whether the nodes have that much free memory. */
export function isSatisfied(nodes: Nodes, mask: NumaMask, requests: MemoryRequests): boolean {
  return hasEnough(nodes, nodesOf(mask), requests, ({ free }) => free);
}

/** A preferred one, and of those the narrowest. */
export function bestHint(hints: readonly MergedHint[]): MergedHint | undefined {
  return hints.reduce<MergedHint | undefined>((best, hint) => {
    if (best === undefined) return hint;
    if (hint.preferred !== best.preferred) return hint.preferred ? hint : best;
    return isNarrower(hint.nodes, best.nodes) ? hint : best;
  }, undefined);
}

type Amount = (table: { readonly allocatable: number; readonly free: number }) => number;

function hasEnough(nodes: Nodes, group: readonly number[], requests: MemoryRequests, amount: Amount): boolean {
  return [...requests].every(([type, size]) => {
    const tables = group.flatMap((id) => nodes.get(id)?.tables.get(type) ?? []);
    return tables.reduce((sum, table) => sum + amount(table), 0) >= size;
  });
}

/** Nodes in use stay in their group: single ones single, groups unchanged. */
function mayGroup(nodes: Nodes, group: readonly number[]): boolean {
  const members = group.flatMap((id) => nodes.get(id) ?? []);
  if (group.length === 1) return members.every(({ cells }) => cells.length === 1);
  return members.every(({ assignments, cells }) => assignments === 0 || (cells.length > 1 && sameNodes(cells, group)));
}

/** In any order. */
export function sameNodes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && [...a].sort().every((node, i) => node === [...b].sort()[i]);
}
