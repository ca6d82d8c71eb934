/** Certificates kept as files: loaded while they are good, made again when they are not. */
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
import { certificateFields, certificateTimes } from '#pki/x509.js';

export const defaultRenewBeforeMs = 30 * 24 * 3600_000;

/** A certificate with its key, and the files they are in (undefined without a directory). */
export interface StoredKeyCertificate extends KeyCertificate {
  readonly certificateFile: string | undefined;
  readonly privateKeyFile: string | undefined;
}

/** Milliseconds. */
export interface CertificateTimes {
  /** Since the epoch. */
  readonly now: number;
  /** A certificate that ends sooner than this is made again; 30 days when absent. */
  readonly renewBeforeMs?: number;
  /** How long a new one lasts, unless its authority ends before; a year when absent. */
  readonly validityMs?: number;
}

/** What a certificate must be good for. */
export type Wanted = Omit<IssueOptions, 'now' | 'validityMs'>;

const certificateName = (file: string) => `${file}.crt`;
const keyName = (file: string) => `${file}.key`;

async function load(files: FileStore, file: string): Promise<KeyCertificate | undefined> {
  const [certificate, privateKey] = await Promise.all([files.read(certificateName(file)), files.read(keyName(file))]);
  return certificate === undefined || privateKey === undefined ? undefined : { certificate, privateKey };
}

/**
 * The key is written first: a crash in between leaves a pair that does not match, which the next start replaces, and
 * readers of that moment read again.
 */
export async function saveKeyCertificate(files: FileStore, file: string, made: KeyCertificate): Promise<void> {
  await files.writeAll([
    { name: keyName(file), text: made.privateKey, mode: 0o600 },
    { name: certificateName(file), text: made.certificate, mode: 0o644 },
  ]);
}

function stored(files: FileStore, file: string, pair: KeyCertificate): StoredKeyCertificate {
  return { ...pair, certificateFile: files.path(certificateName(file)), privateKeyFile: files.path(keyName(file)) };
}

/** The authority in `file`; kept as long as it can be read, for everything else depends on it. */
export async function ensureAuthority(
  files: FileStore,
  file: string,
  commonName: string,
  now: number,
): Promise<StoredKeyCertificate> {
  const found = await load(files, file);
  if (found !== undefined && parsePair(found) !== undefined) return stored(files, file, found);
  const made = await createAuthority({ commonName, now });
  await saveKeyCertificate(files, file, made);
  return stored(files, file, made);
}

/** The certificate in `file`, made again when it is missing, damaged, about to expire, or not good for what is wanted. */
export async function ensureCertificate(
  files: FileStore,
  file: string,
  authority: KeyCertificate,
  wanted: Wanted,
  { now, renewBeforeMs = defaultRenewBeforeMs, validityMs }: CertificateTimes,
): Promise<StoredKeyCertificate> {
  const found = await load(files, file);
  if (found !== undefined && stillGood(found, authority, wanted, now + renewBeforeMs))
    return stored(files, file, found);
  const made = await issueCertificate(authority, {
    ...wanted,
    now,
    ...(validityMs === undefined ? {} : { validityMs }),
  });
  await saveKeyCertificate(files, file, made);
  return stored(files, file, made);
}

/** The certificate when it parses and belongs to the key. */
function parsePair(pair: KeyCertificate): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(pair.certificate);
    return certificate.checkPrivateKey(keyPairFromPem(pair.privateKey).privateKey) ? certificate : undefined;
  } catch {
    // Damaged files are made anew, exactly as missing ones.
    return undefined;
  }
}

function stillGood(pair: KeyCertificate, authority: KeyCertificate, wanted: Wanted, until: number): boolean {
  const certificate = parsePair(pair);
  if (certificate === undefined) return false;
  if (!certificate.verify(new X509Certificate(authority.certificate).publicKey)) return false;
  if (certificateTimes(certificate.raw).notAfter < until) return false;
  const has = certificateSubject(certificate.raw);
  if (has.commonName !== wanted.subject.commonName) return false;
  if (has.organizations.join('\n') !== wanted.subject.organizations.join('\n')) return false;
  const names = wanted.names ?? [];
  const ips = wanted.ips ?? [];
  return names.every((name) => hasName(certificate, name)) && ips.every((ip) => hasAddress(certificate, ip));
}

function hasName(certificate: X509Certificate, name: string): boolean {
  return (certificate.subjectAltName ?? '').split(', ').includes(`DNS:${name}`);
}

function hasAddress(certificate: X509Certificate, ip: string): boolean {
  const wanted = encodeAddress(ip);
  return (certificate.subjectAltName ?? '')
    .split(', ')
    .filter((entry) => entry.startsWith('IP Address:'))
    .some((entry) => encodeAddress(entry.slice('IP Address:'.length)).equals(wanted));
}

/** Common name and organizations of a certificate in DER. Throws `DerError`. */
export function certificateSubject(der: Buffer): DistinguishedName {
  const subject = certificateFields(der)[4];
  return subject === undefined ? { commonName: '', organizations: [] } : decodeName(subject);
}
