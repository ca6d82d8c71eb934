import type { Plugin } from '#scheduler/framework/plugin.js';
import { amountsOf, type ResourceWeight } from '#scheduler/plugins/node-resources/amounts.js';
import { balanced } from '#scheduler/plugins/node-resources/strategies.js';

export interface BalancedAllocationArgs {
  readonly resources?: readonly ResourceWeight[];
}

/** Prefers nodes where the resources are used to similar degrees. */
export function balancedAllocation({ resources = cpuAndMemory }: BalancedAllocationArgs = {}): Plugin {
  return {
    name: 'NodeResourcesBalancedAllocation',
    score: {
      local: true,
      prepare: (pod) => ({ score: (node) => balanced(amountsOf(pod, node, resources, 'requested')) }),
    },
  };
}

const cpuAndMemory: readonly ResourceWeight[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];
