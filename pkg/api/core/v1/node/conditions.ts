/** Conditions and addresses of nodes. */
import type { Node, NodeCondition, NodeStatus } from '#api/core/v1/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** The node's condition of that type; undefined if absent. */
export function getNodeCondition(status: NodeStatus | undefined, type: string): NodeCondition | undefined {
  return getCondition(status?.conditions, type);
}

/** True if the node's Ready condition is True. */
export function isNodeReady(node: Node): boolean {
  return getNodeCondition(node.status, 'Ready')?.status === 'True';
}

/** The node's first address of that type (`InternalIP`, `Hostname`, …). */
export function nodeAddress(node: Node, type: string): string | undefined {
  return node.status?.addresses?.find((address) => address.type === type)?.address;
}

/** Whether the node has the taint of nodes that are shut down and do not come back by themselves. */
export function isOutOfService({ taints }: Dialect, { spec }: Node): boolean {
  return spec.taints?.some(({ key }) => key === taints.outOfService) === true;
}
