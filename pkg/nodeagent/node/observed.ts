/** What an agent compares of its node: versions of the object, and statuses. Pure. */
import type { Node, NodeStatus } from '#api/core/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';

export function isNewer(a: Node, b: Node): boolean {
  const [left = '0', right = '0'] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return left.length === right.length ? left > right : left.length > right.length;
}

/** Apart from the heartbeats of the conditions, and from conditions of others. */
export function sameStatus(old: NodeStatus | undefined, fresh: NodeStatus): boolean {
  if (old === undefined) return false;
  for (const condition of fresh.conditions ?? []) {
    const before = old.conditions?.find((c) => c.type === condition.type);
    if (!semanticEqual({ ...before, lastHeartbeatTime: '' }, { ...condition, lastHeartbeatTime: '' })) return false;
  }
  const keys = ['capacity', 'allocatable', 'addresses', 'daemonEndpoints', 'nodeInfo', 'images'] as const;
  return keys.every((key) => semanticEqual(old[key], fresh[key]));
}
