/** Annotations of pods that were replaced by fields. */
import type { Dialect } from '#apimachinery/dialect.js';
import { perDialect } from '#apimachinery/memo/once-per.js';

/** Annotation with the seccomp profile of the whole pod. */
export const seccompPodAnnotation = perDialect(({ labelDomain }) => `seccomp.security.alpha.${labelDomain}/pod`);

/** Prefix of annotations with seccomp profiles of single containers; the container's name follows. */
export const seccompContainerPrefix = perDialect(
  ({ labelDomain }) => `container.seccomp.security.alpha.${labelDomain}/`,
);

/** Prefix of annotations with AppArmor profiles of single containers; the container's name follows. */
export const appArmorPrefix = perDialect(({ labelDomain }) => `container.apparmor.security.beta.${labelDomain}/`);

/** Annotation with tolerations in JSON. */
export const tolerationsAnnotation = perDialect(({ labelDomain }) => `scheduler.alpha.${labelDomain}/tolerations`);

/** Whether any annotation may concern seccomp. Few pods have one, so all other checks can be skipped. */
export function mentionsSeccomp(annotations: Readonly<Record<string, string>> | undefined, dialect: Dialect): boolean {
  if (annotations === undefined) return false;
  const ofPod = seccompPodAnnotation(dialect);
  const prefix = seccompContainerPrefix(dialect);
  for (const key in annotations) if (key === ofPod || key.startsWith(prefix)) return true;
  return false;
}
