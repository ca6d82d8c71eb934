/** A certificate of this process with its key, and what is asked of one. Pure. */
import { createHash, type KeyObject, X509Certificate } from 'node:crypto';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import { addressBytes } from '#apimachinery/net/ip.js';
import type { KeyCertificate } from '#pki/certificate.js';
import type { DistinguishedName } from '#pki/distinguished-name.js';
import { certificateSubject } from '#pki/ensure.js';
import { keyPairFromPem } from '#pki/keys.js';
import { certificateTimes } from '#pki/x509.js';

/** Times in milliseconds since the epoch. */
export interface TimedKeyCertificate extends KeyCertificate {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** For whom a certificate is to be. */
export interface CertificateTemplate {
  readonly subject: DistinguishedName;
  readonly dns: readonly string[];
  readonly ips: readonly string[];
}

/** Throws an Error that says what is wrong: no certificate, no key, or one that is not the certificate's. */
export function timed(pair: KeyCertificate): TimedKeyCertificate {
  const der = certificatesInPem(pair.certificate)[0];
  if (der === undefined) throw new RangeError('there is no certificate');
  if (!new X509Certificate(der).checkPrivateKey(keyPairFromPem(pair.privateKey).privateKey))
    throw new RangeError('the key is not that of the certificate');
  return { ...pair, ...certificateTimes(der) };
}

/** Whoever made it may have a clock that is a little ahead: when it begins to be valid is for servers to judge. */
export function hasNotEnded({ notAfter }: TimedKeyCertificate, nowMs: number): boolean {
  return nowMs < notAfter;
}

/** Between 70 and 90 percent of its life, as 1.24 has it: the nodes of a cluster do not all ask at once. */
export function rotationTime({ notBefore, notAfter }: TimedKeyCertificate, random: () => number): number {
  return notBefore + (notAfter - notBefore) * (0.7 + 0.2 * random());
}

/** Whether the certificate is for whom it is wanted, with at least the names that are wanted. */
export function satisfies({ certificate }: KeyCertificate, template: CertificateTemplate): boolean {
  const der = certificatesInPem(certificate)[0];
  if (der === undefined) return false;
  const subject = certificateSubject(der);
  const wanted = template.subject;
  if (subject.commonName !== wanted.commonName) return false;
  if ([...subject.organizations].sort().join('\n') !== [...wanted.organizations].sort().join('\n')) return false;
  const names = (new X509Certificate(der).subjectAltName ?? '').split(', ');
  const addresses = names
    .filter((name) => name.startsWith(addressPrefix))
    .map((name) => name.slice(addressPrefix.length));
  return (
    template.dns.every((name) => names.includes(`DNS:${name}`)) &&
    template.ips.every((ip) => addresses.some((address) => bytesOf(address) === bytesOf(ip)))
  );
}

const addressPrefix = 'IP Address:';

function bytesOf(ip: string): string {
  return (addressBytes(ip) ?? []).join('.');
}

/**
 * The name of the request for a certificate of that key: who asks again after a restart finds what was asked before,
 * and does not ask twice.
 */
export function requestName(publicKey: KeyObject, template: CertificateTemplate, usages: readonly string[]): string {
  const digest = createHash('sha512').update(publicKey.export({ type: 'spki', format: 'der' }));
  const { subject, dns, ips } = template;
  digest.update(JSON.stringify([subject.commonName, subject.organizations, dns, ips, usages]));
  return `node-csr-${digest.digest('base64url')}`;
}
