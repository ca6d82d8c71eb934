/** Checks of seccomp profiles: annotations until 1.18, fields since 1.19. */
import { seccompContainerPrefix, seccompPodAnnotation } from '#api/core/v1/pod/parts/annotations.js';
import { localhostPrefix, oldDefaultProfile, runtimeDefaultProfile } from '#api/core/v1/pod/parts/seccomp.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import {
  type Check,
  type CheckedPod,
  containersNamed,
  joined,
  namesOf,
  numbered,
  settersNamed,
  sortedUnique,
  type Violation,
} from '#apiserver/admission/podsecurity/standards/check.js';

const reason = 'seccompProfile';

/** Level `baseline` until 1.18. */
export const seccompAnnotations: Check = ({ annotations, containers, dialect }) => {
  const prefix = seccompContainerPrefix(dialect);
  const keys = [seccompPodAnnotation(dialect), ...containers.map(({ name }) => `${prefix}${name}`)];
  const forbidden = keys.flatMap((key) => {
    const profile = annotations[key];
    return profile === undefined || isAllowedText(profile) ? [] : [`${key}=${quoted(profile)}`];
  });
  if (forbidden.length === 0) return undefined;
  const shown = sortedUnique(forbidden);
  return {
    reason,
    detail: `forbidden ${numbered('annotation', 'annotations', shown.length)} ${shown.join(', ')}`,
  };
};

function isAllowedText(profile: string): boolean {
  return profile === runtimeDefaultProfile || profile === oldDefaultProfile || profile.startsWith(localhostPrefix);
}

/** Level `baseline` since 1.19: no other profile than the runtime's and those on the node. */
export const seccompFields: Check = (pod) => forbiddenProfiles(pod);

/** Level `restricted` since 1.19: each container has such a profile, its own or the pod's. */
export const seccompRequired: Check = (pod) => {
  const violation = forbiddenProfiles(pod);
  if (violation !== undefined) return violation;
  if (pod.spec.securityContext?.seccompProfile !== undefined) return undefined;
  const names = namesOf(pod, (context) => context.seccompProfile === undefined);
  if (names.length === 0) return undefined;
  const rule = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
  return { reason, detail: `pod or ${containersNamed(names)} ${rule}` };
};

function forbiddenProfiles(pod: CheckedPod): Violation | undefined {
  const types: string[] = [];
  const violates = (profile: { readonly type: string } | undefined): boolean => {
    if (profile === undefined || profile.type === 'RuntimeDefault' || profile.type === 'Localhost') return false;
    types.push(profile.type);
    return true;
  };
  const podItself = violates(pod.spec.securityContext?.seccompProfile);
  const setters = settersNamed(
    podItself,
    namesOf(pod, (context) => violates(context.seccompProfile)),
  );
  if (setters === '') return undefined;
  const values = joined(sortedUnique(types));
  return { reason, detail: `${setters} must not set securityContext.seccompProfile.type to ${values}` };
}
