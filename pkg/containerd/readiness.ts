/** Whether a runtime is ready for the node agent. Pure. */
import type { RuntimeCondition } from '#nodeagent/cri/cri.js';

/**
 * `network`: whether its network must be ready, too. Other conditions do not count: containerd 1.7 and newer have one that is
 * false on a machine that will be too old for them one day.
 */
export function isRuntimeReady(
  conditions: readonly Pick<RuntimeCondition, 'type' | 'status'>[],
  { network }: { readonly network: boolean },
): boolean {
  const needed = network ? ['RuntimeReady', 'NetworkReady'] : ['RuntimeReady'];
  return needed.every((name) => conditions.some(({ type, status }) => type === name && status));
}
