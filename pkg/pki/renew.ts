/** Another certificate for the same: whoever is to have it need not be known anew. */
import { X509Certificate } from 'node:crypto';
import { issueCertificate, type KeyCertificate } from '#pki/certificate.js';
import { certificateSubject, type Wanted } from '#pki/ensure.js';
import { createSelfSigned } from '#pki/self-signed.js';
import { type Purpose, purposeOids } from '#pki/usages.js';

export interface RenewTimes {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** A year when absent. */
  readonly validityMs?: number;
}

/** With a new key, for the same subject, names and uses. Throws for a text that is no certificate. */
export async function renewCertificate(
  pem: string,
  authority: KeyCertificate,
  { now, validityMs }: RenewTimes,
): Promise<KeyCertificate> {
  const wanted = wantedOf(new X509Certificate(pem));
  return issueCertificate(authority, { ...wanted, now, ...(validityMs === undefined ? {} : { validityMs }) });
}

/** For one that a daemon has made for itself, whose authority signs nothing else. */
export async function renewSelfSigned(pem: string, { now }: RenewTimes): Promise<KeyCertificate> {
  const { subject, names = [], ips = [] } = wantedOf(new X509Certificate(pem));
  // Its name ends with the time when it was made.
  const commonName = subject.commonName.replace(/@\d+$/, '');
  return createSelfSigned({ commonName, names, ips, now });
}

/** What a certificate is good for, as it says itself. */
function wantedOf(certificate: X509Certificate): Wanted {
  const alternatives = (certificate.subjectAltName ?? '').split(', ');
  const of = (prefix: string) =>
    alternatives.filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length));
  const oids = (certificate.keyUsage as readonly string[] | undefined) ?? [];
  const purposes = Object.keys(purposeOids) as Purpose[];
  return {
    subject: certificateSubject(certificate.raw),
    usages: purposes.filter((purpose) => oids.includes(purposeOids[purpose])),
    names: of('DNS:'),
    ips: of('IP Address:'),
  };
}
