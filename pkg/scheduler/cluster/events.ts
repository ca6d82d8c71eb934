import type { Node } from '#api/core/v1/types.gen.js';

/** Cluster changes that can make a rejected pod schedulable, named as in the metrics of release 1.24. */
export const clusterEvents = [
  'NodeAdd',
  /** A node became schedulable. */
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
  /** An assigned pod was added: it may satisfy an affinity term. */
  'AssignedPodAdd',
  /** An assigned pod's labels changed: it may satisfy an affinity term. */
  'AssignedPodUpdate',
  /** An assigned pod was deleted or released resources. */
  'AssignedPodDelete',
] as const;
export type ClusterEvent = (typeof clusterEvents)[number];

/** The changes between two versions of a node that could make room for a pod; heartbeats are none. */
export function nodeEvents(node: Node, old: Node): ClusterEvent[] {
  const events: ClusterEvent[] = [];
  if (old.spec.unschedulable === true && node.spec.unschedulable !== true) events.push('NodeSpecUnschedulableChange');
  if (differ(node.status?.allocatable, old.status?.allocatable)) events.push('NodeAllocatableChange');
  if (differ(node.metadata.labels, old.metadata.labels)) events.push('NodeLabelChange');
  if (differ(node.spec.taints, old.spec.taints)) events.push('NodeTaintChange');
  if (differ(conditionStatuses(node), conditionStatuses(old))) events.push('NodeConditionChange');
  return events;
}

/** Conditions without their times, which change with each heartbeat. */
const conditionStatuses = ({ status }: Node) =>
  status?.conditions?.map(({ type, status: value }) => [type, value]).sort();

/** Whether two values differ in their JSON form. */
export function differ(a: unknown, b: unknown): boolean {
  return a !== b && JSON.stringify(a) !== JSON.stringify(b);
}
