/**
 * Chooses processors evenly from as few NUMA nodes as possible: the policy option `distribute-cpus-across-numa`, as in
 * 1.24 (cpumanager/cpu_assignment.go, KEP-2902). Pure.
 */
import type { CPUSet } from '#nodeagent/allocation/cpus/cpu-set.js';
import type { CPUTopology } from '#nodeagent/allocation/cpus/cpu-topology.js';
import { FreeCPUs } from '#nodeagent/allocation/cpus/free-cpus.js';
import { takePacked } from '#nodeagent/allocation/cpus/take-packed.js';
import { combinations } from '#nodeagent/allocation/topology/numa-mask.js';

interface Choice {
  /** NUMA nodes that all give the same number. */
  readonly nodes: readonly number[];
  /** Those that give one group of the rest in turn. */
  readonly remainder: readonly number[];
  /** Standard deviation of what stays free; less is better. */
  readonly balance: number;
}

interface Request {
  readonly free: FreeCPUs;
  readonly count: number;
  /** Processors are given in groups of this size. */
  readonly groupSize: number;
}

/** Throws if there are too few. `groupSize`: the processors of a core, to give only whole cores. */
export function takeDistributed(
  topology: CPUTopology,
  available: CPUSet,
  { count, groupSize }: { readonly count: number; readonly groupSize: number },
): CPUSet {
  if (count < 1 || count % groupSize !== 0) return takePacked(topology, available, count);
  const request: Request = { free: new FreeCPUs(topology, available, count), count, groupSize };
  const nodes = request.free.nodes();
  const [least, most] = nodeRange(topology, request, nodes);
  for (let size = least; size <= most; size++) {
    const choice = bestChoice(request, nodes, size);
    if (choice !== undefined) return distribute(topology, request, choice);
  }
  return takePacked(topology, available, count);
}

/** The smallest and the largest number of NUMA nodes that can serve the request. */
function nodeRange(
  { cpus, nodes }: CPUTopology,
  { count, groupSize }: Request,
  available: readonly number[],
): readonly [number, number] {
  const groups = Math.ceil(cpus.size / groupSize);
  const needed = Math.ceil(count / groupSize);
  return [Math.ceil(needed / Math.ceil(groups / nodes.length)), Math.min(needed, available.length)];
}

/** The best of all combinations of so many NUMA nodes; undefined if none can share the request evenly. */
function bestChoice(request: Request, nodes: readonly number[], size: number): Choice | undefined {
  let best: Choice | undefined;
  for (const combination of combinations(nodes, size)) {
    if (best?.balance === 0) break;
    const choice = choiceOf(request, nodes, combination);
    if (choice !== undefined && choice.balance < (best?.balance ?? Infinity)) best = choice;
  }
  return best;
}

/** What each of the NUMA nodes gives at least. */
function evenShare({ count, groupSize }: Request, nodes: readonly number[]): number {
  return Math.floor(Math.floor(count / nodes.length) / groupSize) * groupSize;
}

function choiceOf(request: Request, all: readonly number[], nodes: readonly number[]): Choice | undefined {
  const { free, count, groupSize } = request;
  const freeOn = new Map(all.map((node) => [node, free.in('node', node).length]));
  const groups = nodes.reduce((sum, node) => sum + Math.floor((freeOn.get(node) ?? 0) / groupSize), 0);
  const share = evenShare(request, nodes);
  if (groups * groupSize < count || nodes.some((node) => (freeOn.get(node) ?? 0) < share)) return undefined;
  for (const node of nodes) freeOn.set(node, (freeOn.get(node) ?? 0) - share);
  const rest = count - share * nodes.length;
  if (rest === 0) return { nodes, remainder: [], balance: deviation([...freeOn.values()]) };
  const givers = nodes.filter((node) => (freeOn.get(node) ?? 0) >= groupSize);
  let best: Choice | undefined;
  for (let size = givers.length; size >= 1; size--) {
    for (const remainder of combinations(givers, size)) {
      const left = afterRemainder(freeOn, remainder, { rest, groupSize });
      if (left === undefined) continue;
      const balance = deviation([...left.values()]);
      if (balance < (best?.balance ?? Infinity)) best = { nodes, remainder, balance };
    }
  }
  return best;
}

/** What is free after the nodes have given the rest in turn; undefined if they have too few. */
function afterRemainder(
  freeOn: ReadonlyMap<number, number>,
  nodes: readonly number[],
  { rest, groupSize }: { readonly rest: number; readonly groupSize: number },
): ReadonlyMap<number, number> | undefined {
  const left = new Map(freeOn);
  let missing = rest;
  while (missing > 0) {
    const before = missing;
    for (const node of nodes) {
      const has = left.get(node) ?? 0;
      if (missing === 0 || has < groupSize) continue;
      left.set(node, has - groupSize);
      missing -= groupSize;
    }
    if (missing === before) return undefined;
  }
  return left;
}

function distribute(topology: CPUTopology, request: Request, { nodes, remainder }: Choice): CPUSet {
  const { free, groupSize } = request;
  const takeOn = (node: number, count: number) =>
    free.take(takePacked(topology, new Set(free.in('node', node)), count));
  const share = evenShare(request, nodes);
  for (const node of nodes) takeOn(node, share);
  while (!free.isSatisfied) {
    for (const node of remainder) {
      if (!free.isSatisfied && free.in('node', node).length >= groupSize) takeOn(node, groupSize);
    }
  }
  return free.chosen;
}

/** Rounded to thousandths, as in 1.24, which decides between equals. */
function deviation(numbers: readonly number[]): number {
  const average = round(numbers.reduce((sum, number) => sum + number, 0) / numbers.length);
  const squares = numbers.reduce((sum, number) => sum + (number - average) ** 2, 0);
  return round(Math.sqrt(squares / numbers.length));
}

function round(number: number): number {
  return Math.round(number * 1000) / 1000;
}
