import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

export interface ResourceWeight {
  readonly name: string;
  readonly weight: number;
}

/** A node's capacity of a resource and the sum of requests, including the pod to place. */
export interface Amount {
  readonly weight: number;
  /** Positive. */
  readonly capacity: number;
  readonly used: number;
}

/**
 * Skips resources that the node lacks, and extended resources that the pod does not request. `assumed` counts pods
 * without CPU or memory requests with the scoring defaults, `requested` with zero.
 */
export function amountsOf(
  pod: PodInfo,
  node: NodeInfo,
  resources: readonly ResourceWeight[],
  count: 'assumed' | 'requested',
): Amount[] {
  const amounts: Amount[] = [];
  const { allocatable, nonZero, requested } = node;
  const add = (weight: number, capacity: number, used: number) => {
    if (capacity > 0) amounts.push({ weight, capacity, used });
  };
  for (const { name, weight } of resources) {
    switch (name) {
      case 'cpu':
        if (count === 'assumed') add(weight, allocatable.milliCpu, nonZero.milliCpu + pod.nonZero.milliCpu);
        else add(weight, allocatable.milliCpu, requested.milliCpu + pod.requests.milliCpu);
        break;
      case 'memory':
        if (count === 'assumed') add(weight, allocatable.memory, nonZero.memory + pod.nonZero.memory);
        else add(weight, allocatable.memory, requested.memory + pod.requests.memory);
        break;
      case 'ephemeral-storage':
        add(weight, allocatable.ephemeralStorage, requested.ephemeralStorage + pod.requests.ephemeralStorage);
        break;
      default: {
        const request = pod.requests.scalars?.get(name) ?? 0;
        if (request === 0) break;
        add(weight, allocatable.scalars?.get(name) ?? 0, (requested.scalars?.get(name) ?? 0) + request);
      }
    }
  }
  return amounts;
}
