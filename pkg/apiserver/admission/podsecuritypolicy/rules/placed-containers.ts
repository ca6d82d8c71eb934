/** The containers of a pod with their paths. */
import { containerLists } from '#api/core/v1/pod/parts/containers.js';
import type { Container, EphemeralContainer, PodSpec } from '#api/core/v1/types.gen.js';
import type { FieldPath } from '#apimachinery/validation/path.js';

interface Placed {
  readonly container: Container | EphemeralContainer;
  readonly path: FieldPath;
}

/** In 1.24's order. `path`: of the specification. */
export function* placedContainers(spec: PodSpec, path: FieldPath, ephemeralContainers: boolean): Generator<Placed> {
  for (const list of containerLists) {
    if (list === 'ephemeralContainers' && !ephemeralContainers) continue;
    for (const [i, container] of (spec[list] ?? []).entries()) yield { container, path: path.child(list).index(i) };
  }
}
