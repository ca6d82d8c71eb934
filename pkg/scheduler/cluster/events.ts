import type { Node } from '#api/core/v1/types.gen.js';

/** Changes in the cluster that may make a rejected pod schedulable, by the names that release 1.24 has for them in its series. */
export const clusterEvents = [
  'NodeAdd',
  /** A node takes pods again. */
  'NodeSpecUnschedulableChange',
  'NodeAllocatableChange',
  'NodeLabelChange',
  'NodeTaintChange',
  'NodeConditionChange',
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
  /** A pod was assigned: it may satisfy an affinity. */
  'AssignedPodAdd',
  /** An assigned pod changed its labels: the same. */
  'AssignedPodUpdate',
  /** An assigned pod went away or gave resources back. */
  'AssignedPodDelete',
] as const;
export type ClusterEvent = (typeof clusterEvents)[number];

/** Which changes between two versions of a node could make room for a pod; heartbeats give none. */
export function nodeEvents(node: Node, old: Node): ClusterEvent[] {
  const events: ClusterEvent[] = [];
  if (old.spec.unschedulable === true && node.spec.unschedulable !== true) events.push('NodeSpecUnschedulableChange');
  if (differ(node.status?.allocatable, old.status?.allocatable)) events.push('NodeAllocatableChange');
  if (differ(node.metadata.labels, old.metadata.labels)) events.push('NodeLabelChange');
  if (differ(node.spec.taints, old.spec.taints)) events.push('NodeTaintChange');
  if (differ(conditionStatuses(node), conditionStatuses(old))) events.push('NodeConditionChange');
  return events;
}

/** Without the times, which each heartbeat changes. */
const conditionStatuses = ({ status }: Node) =>
  status?.conditions?.map(({ type, status: value }) => [type, value]).sort();

/** Whether two values say something else. */
export function differ(a: unknown, b: unknown): boolean {
  return a !== b && JSON.stringify(a) !== JSON.stringify(b);
}
