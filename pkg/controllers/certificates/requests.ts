/** What the controllers of certificate signing requests ask of them. Pure. */
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { type AlternativeNames, readCertificateRequest } from '#apimachinery/asn1/pkcs10.js';
import type { DistinguishedName } from '#pki/distinguished-name.js';
import { decodeName } from '#pki/distinguished-name.js';

/** Queue of all controllers that decide about requests and sign them, as in 1.24. */
export const certificateQueue = 'certificate';
/** First pause after a failure, in milliseconds. */
export const firstRetryMs = 200;
/** Requests worked on at once, as in 1.24, which has no option for it. */
export const certificateConcurrency = 5;

/** Approved, and not denied as well. */
export function isApproved(request: CertificateSigningRequest): boolean {
  return hasCondition(request, 'Approved') && !hasCondition(request, 'Denied');
}

export function isDecided(request: CertificateSigningRequest): boolean {
  return hasCondition(request, 'Approved') || hasCondition(request, 'Denied');
}

/** Clients of old leave the status of a condition out. */
export function isFailed({ status }: CertificateSigningRequest): boolean {
  return status?.conditions?.some((each) => each.type === 'Failed' && ['', 'True'].includes(each.status)) ?? false;
}

export function isIssued({ status }: CertificateSigningRequest): boolean {
  return (status?.certificate ?? '') !== '';
}

function hasCondition({ status }: CertificateSigningRequest, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type) ?? false;
}

/** For whom a certificate is asked for, and for which uses. */
export interface Asked {
  readonly subject: DistinguishedName;
  readonly names: AlternativeNames;
  readonly usages: readonly string[];
}

/** Throws `CertificateRequestError`, or `DerError` for a subject that cannot be read. */
export function readAsked({ spec }: CertificateSigningRequest): Asked {
  const { subject, names } = readCertificateRequest(spec.request);
  return { subject: decodeName(subject), names, usages: spec.usages ?? [] };
}
