/** Annotations of pods that came before the fields that now say the same. */
import type { Dialect } from '#apimachinery/dialect.js';

/** Annotation with the seccomp profile of all of the pod's containers. */
export function seccompPodAnnotation(dialect: Dialect): string {
  return `seccomp.security.alpha.${dialect.labelDomain}/pod`;
}

/** Prefix of the annotations with the seccomp profiles of single containers; the container's name follows. */
export function seccompContainerPrefix(dialect: Dialect): string {
  return `container.seccomp.security.alpha.${dialect.labelDomain}/`;
}

/** Prefix of the annotations with the AppArmor profiles of single containers; the container's name follows. */
export function appArmorPrefix(dialect: Dialect): string {
  return `container.apparmor.security.beta.${dialect.labelDomain}/`;
}

/** Annotation with tolerations in JSON. */
export function tolerationsAnnotation(dialect: Dialect): string {
  return `scheduler.alpha.${dialect.labelDomain}/tolerations`;
}
