/** Annotations of pods that came before the fields that now say the same. */
import type { Dialect } from '#apimachinery/dialect.js';
import { perDialect } from '#apimachinery/memo/per-dialect.js';

/** Annotation with the seccomp profile of all of the pod's containers. */
export const seccompPodAnnotation = perDialect(({ labelDomain }) => `seccomp.security.alpha.${labelDomain}/pod`);

/** Prefix of the annotations with the seccomp profiles of single containers; the container's name follows. */
export const seccompContainerPrefix = perDialect(
  ({ labelDomain }) => `container.seccomp.security.alpha.${labelDomain}/`,
);

/** Prefix of the annotations with the AppArmor profiles of single containers; the container's name follows. */
export const appArmorPrefix = perDialect(({ labelDomain }) => `container.apparmor.security.beta.${labelDomain}/`);

/** Annotation with tolerations in JSON. */
export const tolerationsAnnotation = perDialect(({ labelDomain }) => `scheduler.alpha.${labelDomain}/tolerations`);

/** Whether any annotation may be about seccomp. Hardly any pod has one, and then nobody need look further. */
export function mentionsSeccomp(annotations: Readonly<Record<string, string>> | undefined, dialect: Dialect): boolean {
  if (annotations === undefined) return false;
  const ofPod = seccompPodAnnotation(dialect);
  const prefix = seccompContainerPrefix(dialect);
  for (const key in annotations) if (key === ofPod || key.startsWith(prefix)) return true;
  return false;
}
