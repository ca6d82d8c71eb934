/** Priority classes of the cluster's essential pods. */
import type { PriorityClass } from '#api/scheduling/v1/types.gen.js';

export const systemPriorityClasses: readonly PriorityClass[] = [
  {
    metadata: { name: 'system-node-critical' },
    value: 2_000_001_000,
    preemptionPolicy: 'PreemptLowerPriority',
    description: 'For pods that their node cannot work without; they must not be moved away from it.',
  },
  {
    metadata: { name: 'system-cluster-critical' },
    value: 2_000_000_000,
    preemptionPolicy: 'PreemptLowerPriority',
    description: 'For pods that the cluster cannot work without; they may be moved to another node.',
  },
];
