/** Certificates kept as files: loaded while they are valid, replaced when they are not. */

import { X509Certificate } from 'node:crypto';
import {
  createAuthority,
  encodeAddress,
  type IssueOptions,
  issueCertificate,
  type KeyCertificate,
} from '#pki/certificate.js';
import { type DistinguishedName, decodeName } from '#pki/distinguished-name.js';
import type { FileStore } from '#pki/file-store.js';
import { keyPairFromPem } from '#pki/keys.js';
import { createSelfSigned } from '#pki/self-signed.js';
import { type Purpose, purposeOids } from '#pki/usages.js';
import { certificateFields, certificateTimes } from '#pki/x509.js';

export const defaultRenewBeforeMs = 30 * 24 * 3600_000;

/** A certificate with its key, and their files (undefined without a directory). */
export interface StoredKeyCertificate extends KeyCertificate {
  readonly certificateFile: string | undefined;
  readonly privateKeyFile: string | undefined;
}

/** Milliseconds. */
export interface CertificateTimes {
  /** Since the epoch. */
  readonly now: number;
  /** Time before its end at which a certificate is replaced; 30 days when absent. */
  readonly renewBeforeMs?: number;
  /** Validity of a new certificate, which also ends with its authority; a year when absent. */
  readonly validityMs?: number;
}

/** Subject, usages and names of a certificate. */
export type CertificateSpec = Omit<IssueOptions, 'now' | 'validityMs'>;

const certificateName = (file: string) => `${file}.crt`;
const keyName = (file: string) => `${file}.key`;

async function load(files: FileStore, file: string): Promise<KeyCertificate | undefined> {
  const [certificate, privateKey] = await Promise.all([files.read(certificateName(file)), files.read(keyName(file))]);
  return certificate === undefined || privateKey === undefined ? undefined : { certificate, privateKey };
}

/**
 * Writes the key first. A crash in between leaves a pair that does not match, which the next start replaces; a reader of
 * such a pair reads again.
 */
export async function saveKeyCertificate(files: FileStore, file: string, pair: KeyCertificate): Promise<void> {
  await files.writeAll([
    { name: keyName(file), text: pair.privateKey, mode: 0o600 },
    { name: certificateName(file), text: pair.certificate, mode: 0o600 },
  ]);
}

function stored(files: FileStore, file: string, pair: KeyCertificate): StoredKeyCertificate {
  return { ...pair, certificateFile: files.path(certificateName(file)), privateKeyFile: files.path(keyName(file)) };
}

/** Loads the authority in `file`, or creates it. A readable one is never replaced: everything else depends on it. */
export async function ensureAuthority(
  files: FileStore,
  file: string,
  commonName: string,
  now: number,
): Promise<StoredKeyCertificate> {
  const existing = await load(files, file);
  if (existing !== undefined && parsePair(existing) !== undefined) return stored(files, file, existing);
  const created = await createAuthority({ commonName, now });
  await saveKeyCertificate(files, file, created);
  return stored(files, file, created);
}

/** Loads the certificate in `file`, or issues it when it is missing, damaged, about to expire, or does not meet `spec`. */
export async function ensureCertificate(
  files: FileStore,
  file: string,
  authority: KeyCertificate,
  spec: CertificateSpec,
  { now, renewBeforeMs = defaultRenewBeforeMs, validityMs }: CertificateTimes,
): Promise<StoredKeyCertificate> {
  const existing = await load(files, file);
  if (existing !== undefined && isValid(existing, authority, spec, now + renewBeforeMs))
    return stored(files, file, existing);
  const times = { now, ...(validityMs === undefined ? {} : { validityMs }) };
  const issued = await issueCertificate(authority, { ...spec, ...times });
  await saveKeyCertificate(files, file, issued);
  return stored(files, file, issued);
}

/** The certificate when it parses and belongs to the key. */
function parsePair(pair: KeyCertificate): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(pair.certificate);
    return certificate.checkPrivateKey(keyPairFromPem(pair.privateKey).privateKey) ? certificate : undefined;
  } catch {
    // Damaged files are replaced like missing ones.
    return undefined;
  }
}

/** Whether the pair is signed by the authority, meets `spec` and is valid `until` then. */
function isValid(pair: KeyCertificate, authority: KeyCertificate, spec: CertificateSpec, until: number): boolean {
  const certificate = parsePair(pair);
  if (certificate === undefined) return false;
  if (!certificate.verify(new X509Certificate(authority.certificate).publicKey)) return false;
  if (certificateTimes(certificate.raw).notAfter < until) return false;
  const { commonName, organizations } = certificateSubject(certificate.raw);
  if (commonName !== spec.subject.commonName) return false;
  if (organizations.join('\n') !== spec.subject.organizations.join('\n')) return false;
  const { names = [], ips = [] } = spec;
  return names.every((name) => hasName(certificate, name)) && ips.every((ip) => hasAddress(certificate, ip));
}

function hasName(certificate: X509Certificate, name: string): boolean {
  return alternativeNames(certificate, 'DNS:').includes(name);
}

function hasAddress(certificate: X509Certificate, ip: string): boolean {
  const address = encodeAddress(ip);
  return alternativeNames(certificate, 'IP Address:').some((text) => encodeAddress(text).equals(address));
}

function alternativeNames({ subjectAltName = '' }: X509Certificate, kind: 'DNS:' | 'IP Address:'): string[] {
  const entries = subjectAltName.split(', ').filter((entry) => entry.startsWith(kind));
  return entries.map((entry) => entry.slice(kind.length));
}

/** Common name and organizations of a certificate in DER. Throws `DerError`. */
export function certificateSubject(der: Buffer): DistinguishedName {
  const subject = certificateFields(der)[4];
  return subject === undefined ? { commonName: '', organizations: [] } : decodeName(subject);
}

export interface RenewTimes {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** A year when absent. */
  readonly validityMs?: number;
}

/** A certificate with a new key and the same subject, names and usages. Throws for a text that is no certificate. */
export async function renewCertificate(
  pem: string,
  authority: KeyCertificate,
  { now, validityMs }: RenewTimes,
): Promise<KeyCertificate> {
  const spec = certificateSpec(new X509Certificate(pem));
  return issueCertificate(authority, { ...spec, now, ...(validityMs === undefined ? {} : { validityMs }) });
}

/** The same for a certificate of `createSelfSigned`. */
export async function renewSelfSigned(pem: string, { now }: RenewTimes): Promise<KeyCertificate> {
  const { subject, names = [], ips = [] } = certificateSpec(new X509Certificate(pem));
  // The common name ends with the time of creation.
  const commonName = subject.commonName.replace(/@\d+$/, '');
  return createSelfSigned({ commonName, names, ips, now });
}

/** The spec that the certificate meets. */
export function certificateSpec(certificate: X509Certificate): CertificateSpec {
  const oids = (certificate.keyUsage as readonly string[] | undefined) ?? [];
  const purposes = Object.keys(purposeOids) as Purpose[];
  return {
    subject: certificateSubject(certificate.raw),
    usages: purposes.filter((purpose) => oids.includes(purposeOids[purpose])),
    names: alternativeNames(certificate, 'DNS:'),
    ips: alternativeNames(certificate, 'IP Address:'),
  };
}
