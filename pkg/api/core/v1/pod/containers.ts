/** All containers of a pod, whatever their sort. */
import type { Container, EphemeralContainer, PodSpec } from '#api/core/v1/types.gen.js';

export const containerLists = ['initContainers', 'containers', 'ephemeralContainers'] as const;

export interface ListedContainer {
  readonly list: (typeof containerLists)[number];
  readonly index: number;
  readonly container: Container | EphemeralContainer;
}

/** Every container with its place, in the order in which they start. */
export function containersOf(spec: PodSpec): ListedContainer[] {
  return containerLists.flatMap((list) =>
    (spec[list] ?? []).map((container: Container | EphemeralContainer, index) => ({ list, index, container })),
  );
}
