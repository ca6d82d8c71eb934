/** All containers of a pod, of every type. */
import type { Container, EphemeralContainer, PodSpec } from '#api/core/v1/types.gen.js';

/** The lists of containers in start order. */
export const containerLists = ['initContainers', 'containers', 'ephemeralContainers'] as const;

/** Whether any container satisfies the predicate. */
export function someContainer(
  spec: PodSpec,
  isOne: (container: Container | EphemeralContainer) => boolean | undefined,
): boolean {
  for (const list of containerLists) for (const container of spec[list] ?? []) if (isOne(container)) return true;
  return false;
}
