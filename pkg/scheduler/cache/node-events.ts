import type { Node } from '#api/core/v1/types.gen.js';
import type { ClusterEvent } from '#scheduler/framework/plugin.js';

/** Which changes between two versions of a node could make room for a pod; heartbeats give none. */
export function nodeEvents(node: Node, old: Node): ClusterEvent[] {
  const events: ClusterEvent[] = [];
  if (differ(node.status?.allocatable, old.status?.allocatable)) events.push('NodeAllocatable');
  if (differ(node.metadata.labels, old.metadata.labels)) events.push('NodeLabels');
  if (differ(node.spec.taints, old.spec.taints) || node.spec.unschedulable !== old.spec.unschedulable) {
    events.push('NodeTaints');
  }
  return events;
}

function differ(a: unknown, b: unknown): boolean {
  return a !== b && JSON.stringify(a) !== JSON.stringify(b);
}
