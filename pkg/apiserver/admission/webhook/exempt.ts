import type { AdmissionAttributes } from '#apiserver/admission/admission.js';

export const exemptResources = [
  { group: 'admissionregistration', resource: 'mutatingwebhookconfigurations' },
  { group: 'admissionregistration', resource: 'validatingwebhookconfigurations' },
] as const;

/** No webhook is asked about webhook configurations: one that refuses everything could never be put right. */
export function isExempt({ resource }: Pick<AdmissionAttributes, 'resource'>): boolean {
  return exemptResources.some((exempt) => exempt.group === resource.group && exempt.resource === resource.resource);
}
