/** Which pods a node under pressure rejects, as release 1.24 does (eviction manager, Admit). Pure. */

import { findUntoleratedTaint } from '#api/core/v1/node/taints.js';
import { podQosClass } from '#api/core/v1/pod/resources.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { PressureCondition } from '#nodeagent/pressure/thresholds.js';

export interface RefusalInput {
  readonly dialect: Dialect;
  readonly pod: Pod;
  /** The pod is static, or its priority is that of the system's pods. */
  readonly isCritical: boolean;
  readonly conditions: readonly PressureCondition[];
}

/** Undefined: the pod may run. Without memory, only pods without requests are rejected; they are evicted first. */
export function pressureRefusal(
  input: RefusalInput,
): { readonly reason: string; readonly message: string } | undefined {
  const { dialect, pod, isCritical, conditions } = input;
  if (conditions.length === 0 || isCritical) return undefined;
  if (conditions.every((condition) => condition === 'MemoryPressure')) {
    const taint = { key: dialect.taints.memoryPressure, effect: 'NoSchedule' };
    const isTolerant = findUntoleratedTaint([taint], pod.spec.tolerations, ['NoSchedule']) === undefined;
    if (podQosClass(pod) !== 'BestEffort' || isTolerant) return undefined;
  }
  return { reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. ` };
}
