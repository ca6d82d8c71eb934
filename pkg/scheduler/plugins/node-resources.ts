import type { NodeInfo } from '#scheduler/framework/node-info.js';
import { type FilterPlugin, maxNodeScore, type ScorePlugin } from '#scheduler/framework/plugin.js';
import type { PodInfo } from '#scheduler/framework/pod-info.js';

/** Enough unrequested resources, and room for one more pod. */
export const nodeResourcesFit: FilterPlugin = {
  name: 'NodeResourcesFit',
  events: ['NodeAdd', 'NodeAllocatable', 'AssignedPodDelete'],
  filter(pod, node) {
    const reasons: string[] = [];
    if (node.pods.size + 1 > node.maxPods) reasons.push('Too many pods');
    const { requests } = pod;
    const { allocatable, requested } = node;
    if (requests.milliCpu > 0 && requests.milliCpu > allocatable.milliCpu - requested.milliCpu) {
      reasons.push('Insufficient cpu');
    }
    if (requests.memory > 0 && requests.memory > allocatable.memory - requested.memory) {
      reasons.push('Insufficient memory');
    }
    if (
      requests.ephemeralStorage > 0 &&
      requests.ephemeralStorage > allocatable.ephemeralStorage - requested.ephemeralStorage
    ) {
      reasons.push('Insufficient ephemeral-storage');
    }
    if (requests.scalars !== undefined) {
      for (const [name, amount] of requests.scalars) {
        const free = (allocatable.scalars?.get(name) ?? 0) - (requested.scalars?.get(name) ?? 0);
        if (amount > 0 && amount > free) reasons.push(`Insufficient ${name}`);
      }
    }
    return reasons.length > 0 ? { reasons } : undefined;
  },
};

/** Prefers nodes with much left of CPU and memory. */
export const leastAllocated: ScorePlugin = {
  name: 'NodeResourcesFit',
  weight: 1,
  score(pod, node) {
    const cpu = leftOver(node.nonZero.milliCpu + pod.nonZero.milliCpu, node.allocatable.milliCpu);
    const memory = leftOver(node.nonZero.memory + pod.nonZero.memory, node.allocatable.memory);
    return Math.floor((cpu + memory) / 2);
  },
};

/** Prefers nodes on which CPU and memory would be used to a similar degree. */
export const balancedAllocation: ScorePlugin = {
  name: 'NodeResourcesBalancedAllocation',
  weight: 1,
  score(pod: PodInfo, node: NodeInfo) {
    const cpu = fraction(node.requested.milliCpu + pod.requests.milliCpu, node.allocatable.milliCpu);
    const memory = fraction(node.requested.memory + pod.requests.memory, node.allocatable.memory);
    // Of two values the standard deviation is half their distance.
    return Math.floor((1 - Math.abs(cpu - memory) / 2) * maxNodeScore);
  },
};

function leftOver(used: number, capacity: number): number {
  if (capacity <= 0 || used > capacity) return 0;
  return Math.floor(((capacity - used) * maxNodeScore) / capacity);
}

function fraction(used: number, capacity: number): number {
  return capacity <= 0 ? 1 : Math.min(1, used / capacity);
}
