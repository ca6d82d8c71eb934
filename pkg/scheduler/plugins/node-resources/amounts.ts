import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';

export interface ResourceWeight {
  readonly name: string;
  readonly weight: number;
}

/** What a node would have of a resource, and what its pods would ask for, were the pod there. */
export interface Amount {
  readonly weight: number;
  /** Never 0. */
  readonly capacity: number;
  readonly used: number;
}

/**
 * Resources that the node does not have are left out, and extended ones that the pod does not ask for. `assumed`: pods
 * that ask for no CPU or memory count with some; `requested`: with nothing.
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
        const asked = pod.requests.scalars?.get(name) ?? 0;
        if (asked === 0) break;
        add(weight, allocatable.scalars?.get(name) ?? 0, (requested.scalars?.get(name) ?? 0) + asked);
      }
    }
  }
  return amounts;
}
