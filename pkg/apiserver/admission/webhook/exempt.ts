import type { AdmissionAttributes } from '#apiserver/admission/admission.js';

const kinds: ReadonlySet<string> = new Set(['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']);

/** No webhook is asked about webhook configurations: one that refuses everything could never be put right. */
export function isExempt({ resource }: Pick<AdmissionAttributes, 'resource'>): boolean {
  return resource.group === 'admissionregistration' && kinds.has(resource.resource);
}
