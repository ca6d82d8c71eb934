/** Conditions and addresses of nodes. */
import type { Node, NodeCondition, NodeStatus } from '#api/core/v1/types.gen.js';
import { getCondition, setCondition } from '#api/meta/v1/condition/conditions.js';

/** The node's condition of that type, undefined when it has none. */
export function getNodeCondition(status: NodeStatus | undefined, type: string): NodeCondition | undefined {
  return getCondition(status?.conditions, type);
}

/** The status with the condition set (`now` in RFC 3339); the very same status when that changes nothing. */
export function setNodeCondition(status: NodeStatus | undefined, condition: NodeCondition, now: string): NodeStatus {
  const old = status ?? {};
  const conditions = setCondition(old.conditions, condition, now);
  return conditions === old.conditions ? old : { ...old, conditions: [...conditions] };
}

/** True when the node's Ready condition is True. */
export function isNodeReady(node: Node): boolean {
  return getNodeCondition(node.status, 'Ready')?.status === 'True';
}

/** The node's first address of that type (`InternalIP`, `Hostname`, …). */
export function nodeAddress(node: Node, type: string): string | undefined {
  return node.status?.addresses?.find((address) => address.type === type)?.address;
}
