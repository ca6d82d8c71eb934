import type { Node } from '#api/core/v1/types.gen.js';

/** Changes in the cluster that may make a rejected pod schedulable. */
export const clusterEvents = [
  'NodeAdd',
  'NodeAllocatable',
  'NodeLabels',
  'NodeTaints',
  'PvAdd',
  'PvUpdate',
  'PvcAdd',
  'PvcUpdate',
  'StorageClassAdd',
  'StorageClassUpdate',
  'CSINodeAdd',
  'CSINodeUpdate',
  'CSIDriverAdd',
  'CSIDriverUpdate',
  'CSIStorageCapacityAdd',
  'CSIStorageCapacityUpdate',
  /** A pod was assigned or changed its labels: it may satisfy an affinity. */
  'AssignedPodAdd',
  /** An assigned pod went away or gave resources back. */
  'AssignedPodDelete',
] as const;
export type ClusterEvent = (typeof clusterEvents)[number];

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

/** Whether two values say something else. */
export function differ(a: unknown, b: unknown): boolean {
  return a !== b && JSON.stringify(a) !== JSON.stringify(b);
}
