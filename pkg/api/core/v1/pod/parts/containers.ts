/** All containers of a pod, whatever their sort. */
import type { Container, EphemeralContainer, PodSpec } from '#api/core/v1/types.gen.js';

/** The lists of containers, in the order in which their containers start. */
export const containerLists = ['initContainers', 'containers', 'ephemeralContainers'] as const;

/** Whether any container, of whatever sort, is one of those. */
export function someContainer(
  spec: PodSpec,
  isOne: (container: Container | EphemeralContainer) => boolean | undefined,
): boolean {
  for (const list of containerLists) for (const container of spec[list] ?? []) if (isOne(container)) return true;
  return false;
}
