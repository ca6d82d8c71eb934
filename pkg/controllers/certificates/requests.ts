/** Reads certificate signing requests, for the controllers that approve, sign and clean them up. Pure. */
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { type AlternativeNames, readCertificateRequest } from '#apimachinery/asn1/pkcs10.js';
import type { DistinguishedName } from '#pki/distinguished-name.js';
import { decodeName } from '#pki/distinguished-name.js';

/** The queue's name in metrics, the same for approving and signing as in 1.24. */
export const certificateQueue = 'certificate';
/** The pause after the first failure. */
export const firstRetryMs = 200;
/** The concurrency of 1.24, which has no option for it. */
export const certificateConcurrency = 5;

export function isApproved(request: CertificateSigningRequest): boolean {
  return hasCondition(request, 'Approved') && !hasCondition(request, 'Denied');
}

export function isDecided(request: CertificateSigningRequest): boolean {
  return hasCondition(request, 'Approved') || hasCondition(request, 'Denied');
}

/** Older clients omit the status of a condition. */
export function isFailed({ status }: CertificateSigningRequest): boolean {
  return status?.conditions?.some((each) => each.type === 'Failed' && ['', 'True'].includes(each.status)) ?? false;
}

export function isIssued({ status }: CertificateSigningRequest): boolean {
  return (status?.certificate ?? '') !== '';
}

function hasCondition({ status }: CertificateSigningRequest, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type) ?? false;
}

export interface RequestedCertificate {
  readonly subject: DistinguishedName;
  readonly names: AlternativeNames;
  readonly usages: readonly string[];
}

/** Throws `CertificateRequestError`, or `DerError` for a malformed subject. */
export function readRequestedCertificate({ spec }: CertificateSigningRequest): RequestedCertificate {
  const { subject, names } = readCertificateRequest(spec.request);
  return { subject: decodeName(subject), names, usages: spec.usages ?? [] };
}
