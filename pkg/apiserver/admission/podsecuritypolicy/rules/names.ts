/** Annotations that policies, their pods and audit events have, as in 1.24. */
import { perDialect } from '#apimachinery/memo/once-per.js';

/** On pods: the policy that admitted them. */
export const policyAnnotation = perDialect(({ labelDomain }) => `${labelDomain}/psp`);

/** Prefix of the annotations of audit events. */
export const auditPrefix = perDialect(({ apiDomain }) => `podsecuritypolicy.policy.${apiDomain}/`);

/** On policies: the profile for pods that name none, and those that pods may have. */
export const profileAnnotations = perDialect(({ labelDomain }) => ({
  appArmor: {
    byDefault: `apparmor.security.beta.${labelDomain}/defaultProfileName`,
    allowed: `apparmor.security.beta.${labelDomain}/allowedProfileNames`,
  },
  seccomp: {
    byDefault: `seccomp.security.alpha.${labelDomain}/defaultProfileName`,
    allowed: `seccomp.security.alpha.${labelDomain}/allowedProfileNames`,
  },
}));
