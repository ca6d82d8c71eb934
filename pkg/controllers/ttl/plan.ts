/** How long node agents may keep ConfigMaps and Secrets that they read, by the size of the cluster. Pure. */
import type { Node } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** Sizes in nodes, both inclusive. They overlap, so that a cluster at a boundary does not go to and fro. */
interface Step {
  readonly min: number;
  readonly max: number;
  readonly ttlSeconds: number;
}

/** Those of 1.24. */
const steps: readonly Step[] = [
  { min: 0, max: 100, ttlSeconds: 0 },
  { min: 90, max: 500, ttlSeconds: 15 },
  { min: 450, max: 1000, ttlSeconds: 30 },
  { min: 900, max: 2000, ttlSeconds: 60 },
  { min: 1800, max: 10_000, ttlSeconds: 300 },
  { min: 9000, max: Number.POSITIVE_INFINITY, ttlSeconds: 600 },
];

/** The step of a cluster with so many nodes that was at `step` before; 0 at first. */
export function nextStep(step: number, nodes: number): number {
  let next = step;
  while (nodes > (steps[next]?.max ?? nodes)) next += 1;
  while (nodes < (steps[next]?.min ?? 0)) next -= 1;
  return next;
}

export function ttlSecondsOf(step: number): number {
  return steps[step]?.ttlSeconds ?? 0;
}

/** Undefined when the node says so already. What is no number there is replaced. */
export function ttlPatch(node: Node, step: number, { annotations }: Dialect): object | undefined {
  const ttlSeconds = ttlSecondsOf(step);
  const text = node.metadata.annotations?.[annotations.nodeTTL] ?? '';
  if (/^[+-]?\d+$/.test(text) && Number(text) === ttlSeconds) return undefined;
  return { metadata: { annotations: { [annotations.nodeTTL]: String(ttlSeconds) } } };
}
