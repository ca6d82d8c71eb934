/** Sets of NUMA nodes as bit masks: bit `i` is the node with ID `i`. Nodes 0 to 63, as in 1.24. Pure. */

/** Largest number of a node that a mask can hold, as in 1.24. */
const maxNode = 63;

/** Bit `i` stands for NUMA node `i`. */
export type NumaMask = bigint;

/** Throws RangeError for nodes beyond the largest one. */
export function maskOf(nodes: Iterable<number>): NumaMask {
  let mask = 0n;
  for (const node of nodes) {
    if (!Number.isInteger(node) || node < 0 || node > maxNode) {
      throw new RangeError(`bit number must be in range 0-${maxNode}`);
    }
    mask |= 1n << BigInt(node);
  }
  return mask;
}

/** The nodes of a mask in ascending order. */
export function nodesOf(mask: NumaMask): number[] {
  const nodes: number[] = [];
  for (let node = 0; node <= maxNode; node++) if (hasNode(mask, node)) nodes.push(node);
  return nodes;
}

export function hasNode(mask: NumaMask, node: number): boolean {
  return node >= 0 && node <= maxNode && (mask & (1n << BigInt(node))) !== 0n;
}

/** The number of nodes. */
export function nodeCount(mask: NumaMask): number {
  let count = 0;
  for (let rest = mask; rest !== 0n; rest &= rest - 1n) count++;
  return count;
}

/** Fewer nodes; of equally many, those with the lower number as a mask. */
export function isNarrower(a: NumaMask, b: NumaMask): boolean {
  const [left, right] = [nodeCount(a), nodeCount(b)];
  return left === right ? a < b : left < right;
}

/** All non-empty subsets, smaller ones first, in 1.24's order. */
export function* subsets(nodes: readonly number[]): Generator<NumaMask> {
  for (let size = 1; size <= nodes.length; size++) {
    for (const combination of combinations(nodes, size)) yield maskOf(combination);
  }
}

/** All combinations of `size` items in the order of the items. */
export function* combinations<T>(items: readonly T[], size: number, start = 0): Generator<readonly T[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let i = start; i <= items.length - size; i++) {
    const first = items[i] as T;
    for (const rest of combinations(items, size - 1, i + 1)) yield [first, ...rest];
  }
}
