/** Which updates of a pod are checked: as in 1.24 those of images, seccomp annotations and ephemeral containers. */
import { seccompContainerPrefix, seccompPodAnnotation } from '#api/core/v1/pod/parts/annotations.js';
import type { Container, EphemeralContainer, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

type AnyContainer = Pick<Container | EphemeralContainer, 'name' | 'image'>;

/** False if the update changes nothing that the standards concern: other fields of a spec are immutable. */
export function isSignificantUpdate(pod: Pod, old: Pod, dialect: Dialect): boolean {
  const differs = (key: string) => (pod.metadata.annotations?.[key] ?? '') !== (old.metadata.annotations?.[key] ?? '');
  if (differs(seccompPodAnnotation(dialect))) return true;
  const changed = (container: AnyContainer, before: AnyContainer | undefined): boolean =>
    before === undefined ||
    (container.image ?? '') !== (before.image ?? '') ||
    differs(`${seccompContainerPrefix(dialect)}${container.name}`);
  const someChanged = (containers: readonly AnyContainer[] = [], before: readonly AnyContainer[] = []): boolean =>
    containers.length !== before.length || containers.some((container, i) => changed(container, before[i]));
  if (someChanged(pod.spec.containers, old.spec.containers)) return true;
  if (someChanged(pod.spec.initContainers, old.spec.initContainers)) return true;
  const before = new Map(old.spec.ephemeralContainers?.map((container) => [container.name, container]));
  return (pod.spec.ephemeralContainers ?? []).some((container) => changed(container, before.get(container.name)));
}
