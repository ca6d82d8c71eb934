/** What the provider's word about a machine means for its node; as in 1.24. Pure. */
import { isNodeReady } from '#api/core/v1/node/conditions.js';
import type { Node, Taint } from '#api/core/v1/types.gen.js';

const effect = 'NoSchedule';

/** A node that is ready has a machine that runs; of others the provider is asked. */
export function isInDoubt(node: Node): boolean {
  return !isNodeReady(node);
}

/** The node's taints with that of machines shut down, or without it; undefined when they are so already. */
export function taintsFor({ spec }: Node, key: string, isShutdown: boolean): Taint[] | undefined {
  const taints = spec.taints ?? [];
  const rest = taints.filter((taint) => taint.key !== key || taint.effect !== effect);
  if (isShutdown === rest.length < taints.length) return undefined;
  return isShutdown ? [...taints, { key, effect }] : rest;
}
