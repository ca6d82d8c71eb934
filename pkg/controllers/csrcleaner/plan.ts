/** When a certificate signing request is of no more use. Pure. */
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import { parseTime } from '#apimachinery/clock.js';
import { isIssued } from '#controllers/certificates/requests.js';
import { certificateTimes } from '#pki/x509.js';

const hourMs = 3600_000;
/** What was decided is left long enough to be fetched or looked at. */
const decidedMs = hourMs;
const pendingMs = 24 * hourMs;

/** Why the request is to go; undefined when it is to stay. Throws for a certificate that cannot be read. */
export function reasonToClean(request: CertificateSigningRequest, nowMs: number): string | undefined {
  const { metadata, status } = request;
  const conditions = status?.conditions ?? [];
  const since = (type: string) => conditions.find((condition) => condition.type === type)?.lastUpdateTime;
  if (isIssued(request)) {
    const approved = conditions.some(({ type }) => type === 'Approved');
    if (approved && expiryMs(status?.certificate ?? '') < nowMs) return 'the certificate is expired';
    if (isOlder(since('Approved'), decidedMs, nowMs)) return 'approved and issued for more than an hour';
  }
  if (isOlder(since('Denied'), decidedMs, nowMs)) return 'denied for more than an hour';
  if (isOlder(since('Failed'), decidedMs, nowMs)) return 'failed for more than an hour';
  if (conditions.length === 0 && isOlder(metadata.creationTimestamp, pendingMs, nowMs)) {
    return 'unhandled for more than a day';
  }
  return undefined;
}

/** False where no time is known. */
function isOlder(time: string | undefined, ageMs: number, nowMs: number): boolean {
  return time !== undefined && time !== '' && nowMs - parseTime(time) > ageMs;
}

/** Of the first certificate; `certificate` is the base64 of a PEM text. */
function expiryMs(certificate: string): number {
  const [der] = certificatesInPem(Buffer.from(certificate, 'base64').toString('latin1'));
  if (der === undefined) throw new Error('expected the certificate associated with the CSR to be PEM encoded');
  return certificateTimes(der).notAfter;
}
