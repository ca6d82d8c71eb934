/** A certificate of this process with its key, and what a certificate must contain. Pure. */
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

/** The names of a certificate to request. */
export interface CertificateTemplate {
  readonly subject: DistinguishedName;
  readonly dns: readonly string[];
  readonly ips: readonly string[];
}

/** Throws an Error if the certificate or key is missing or they do not match. */
export function withValidity(pair: KeyCertificate): TimedKeyCertificate {
  const der = certificatesInPem(pair.certificate)[0];
  if (der === undefined) throw new RangeError('the PEM data has no certificate');
  if (!new X509Certificate(der).checkPrivateKey(keyPairFromPem(pair.privateKey).privateKey))
    throw new RangeError('the private key does not match the certificate');
  return { ...pair, ...certificateTimes(der) };
}

/** Ignores `notBefore`, since the signer's clock may be ahead: the server checks it. */
export function isUnexpired({ notAfter }: TimedKeyCertificate, nowMs: number): boolean {
  return nowMs < notAfter;
}

/** A random time between 70 and 90 percent of its lifetime, as in 1.24, so that nodes do not all renew at once. */
export function rotationTime({ notBefore, notAfter }: TimedKeyCertificate, random: () => number): number {
  return notBefore + (notAfter - notBefore) * (0.7 + 0.2 * random());
}

/** Whether the certificate has the template's subject and at least its names. */
export function satisfies({ certificate }: KeyCertificate, template: CertificateTemplate): boolean {
  const der = certificatesInPem(certificate)[0];
  if (der === undefined) return false;
  const subject = certificateSubject(der);
  const required = template.subject;
  if (subject.commonName !== required.commonName) return false;
  if ([...subject.organizations].sort().join('\n') !== [...required.organizations].sort().join('\n')) return false;
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
 * The name of the signing request for that key and template, so that a restarted process finds its earlier request
 * instead of creating another.
 */
export function requestName(publicKey: KeyObject, template: CertificateTemplate, usages: readonly string[]): string {
  const digest = createHash('sha512').update(publicKey.export({ type: 'spki', format: 'der' }));
  const { subject, dns, ips } = template;
  digest.update(JSON.stringify([subject.commonName, subject.organizations, dns, ips, usages]));
  return `node-csr-${digest.digest('base64url')}`;
}
