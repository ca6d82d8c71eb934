/**
 * Seccomp profiles of a pod and its containers, which are fields or, for older clients, annotations. A new pod gets
 * both, so that all readers see the profile.
 */

import { mentionsSeccomp, seccompContainerPrefix, seccompPodAnnotation } from '#api/core/v1/pod/parts/annotations.js';
import { containerLists } from '#api/core/v1/pod/parts/containers.js';
import type { Pod, SeccompProfile } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';

export const unconfinedProfile = 'unconfined';
export const runtimeDefaultProfile = 'runtime/default';
/** The original name of the runtime's default profile. */
export const oldDefaultProfile = 'docker/default';
export const localhostPrefix = 'localhost/';

/** The annotation for a field; undefined for an invalid field. */
export function profileAnnotation(profile: SeccompProfile): string | undefined {
  switch (profile.type) {
    case 'Unconfined':
      return unconfinedProfile;
    case 'RuntimeDefault':
      return runtimeDefaultProfile;
    case 'Localhost':
      return profile.localhostProfile === undefined ? undefined : localhostPrefix + profile.localhostProfile;
    default:
      return undefined;
  }
}

/** The field for an annotation; undefined for an invalid annotation. */
function profileOfAnnotation(annotation: string): SeccompProfile | undefined {
  if (annotation === unconfinedProfile) return { type: 'Unconfined' };
  if (annotation === runtimeDefaultProfile || annotation === oldDefaultProfile) return { type: 'RuntimeDefault' };
  if (!annotation.startsWith(localhostPrefix) || annotation === localhostPrefix) return undefined;
  return { type: 'Localhost', localhostProfile: annotation.slice(localhostPrefix.length) };
}

interface Holder {
  securityContext?: { seccompProfile?: SeccompProfile };
}

/** Copies fields of a new pod to annotations and vice versa, in place. */
export function syncSeccomp(pod: Draft<Pod>, dialect: Dialect): void {
  // Whether any profile has occurred: few pods have one, and the others need no lookup of annotations.
  let mentioned = mentionsSeccomp(pod.metadata.annotations, dialect) || hasProfile(pod.spec);
  if (mentioned) syncOne(pod, pod.spec, seccompPodAnnotation(dialect));
  for (const list of containerLists) {
    for (const container of pod.spec[list] ?? []) {
      mentioned ||= hasProfile(container);
      if (mentioned) syncOne(pod, container, seccompContainerPrefix(dialect) + container.name);
    }
  }
}

function hasProfile(holder: Holder): boolean {
  return holder.securityContext?.seccompProfile !== undefined;
}

function syncOne(pod: Draft<Pod>, holder: Holder, key: string): void {
  const field = holder.securityContext?.seccompProfile;
  const annotation = pod.metadata.annotations?.[key];
  if (field !== undefined && annotation === undefined) {
    const text = profileAnnotation(field);
    if (text !== undefined) pod.metadata.annotations = { ...pod.metadata.annotations, [key]: text };
  } else if (field === undefined && annotation !== undefined) {
    const profile = profileOfAnnotation(annotation);
    if (profile !== undefined) holder.securityContext = { ...holder.securityContext, seccompProfile: profile };
  }
}
