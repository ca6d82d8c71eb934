/** Refuses pods that set users, groups or SELinux options. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { forbidden } from '#apimachinery/errors/status.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { newPod, podsOnly, writesPod } from '#apiserver/admission/pod-plugin.js';

export class SecurityContextDeny implements AdmissionPlugin {
  readonly name = 'SecurityContextDeny';
  readonly resources = podsOnly;

  handles(attributes: AdmissionAttributes): boolean {
    return writesPod(attributes);
  }

  validate(attributes: AdmissionAttributes): void {
    const pod = newPod(attributes);
    const field = deniedField(pod.spec);
    if (field === undefined) return;
    throw forbidden({ group: '', resource: 'pods' }, pod.metadata.name ?? '', `${field} is forbidden`);
  }
}

/** The first field, in 1.24's order and words. */
function deniedField({ securityContext: own, initContainers = [], containers }: Pod['spec']): string | undefined {
  const prefix = 'pod.Spec.SecurityContext';
  // Decoding has dropped an empty list of groups; 1.24 refuses it in JSON, but not in Protobuf.
  if (own?.supplementalGroups !== undefined) return `${prefix}.SupplementalGroups`;
  if (own?.seLinuxOptions !== undefined) return `${prefix}.SELinuxOptions`;
  if (own?.runAsUser !== undefined) return `${prefix}.RunAsUser`;
  if (own?.fsGroup !== undefined) return `${prefix}.FSGroup`;
  for (const { securityContext: context } of [...initContainers, ...(containers ?? [])]) {
    if (context?.seLinuxOptions !== undefined) return 'SecurityContext.SELinuxOptions';
    if (context?.runAsUser !== undefined) return 'SecurityContext.RunAsUser';
  }
  return undefined;
}
