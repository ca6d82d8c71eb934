/** The certificates in the folder of a cluster, by the names of their files without `.crt`. */
import { X509Certificate } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import type { KeyCertificate } from '#pki/certificate.js';
import type { FileStore } from '#pki/file-store.js';

const suffix = '.crt';

/** `apiserver`, and `scheduler/scheduler` of a daemon with a folder of its own. Throws the file system's errors. */
export function certificateNames(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return namesOf([entry.name]);
    return namesOf(readdirSync(join(folder, entry.name))).map((name) => `${entry.name}/${name}`);
  });
}

function namesOf(files: readonly string[]): string[] {
  return files.filter((file) => file.endsWith(suffix)).map((file) => file.slice(0, -suffix.length));
}

export function certificateFile(name: string): string {
  return `${name}${suffix}`;
}

/** An authority, a certificate that one of the cluster's authorities issued, or one with a throw-away authority of its own. */
export type CertificateKind = 'authority' | 'issued' | 'self-made';

export interface StoredCertificate extends KeyCertificate {
  readonly name: string;
  readonly x509: X509Certificate;
  /** All certificates of the file. While an authority is being replaced: the signing one, then the trusted ones. */
  readonly bundle: readonly X509Certificate[];
  readonly kind: CertificateKind;
}

/** Undefined without a readable certificate or without its key. */
export async function findCertificate(files: FileStore, name: string): Promise<StoredCertificate | undefined> {
  const [certificate, privateKey] = await Promise.all([files.read(certificateFile(name)), files.read(`${name}.key`)]);
  if (certificate === undefined || privateKey === undefined) return undefined;
  const bundle = certificatesInPem(certificate)
    .map(readable)
    .filter((each) => each !== undefined);
  const [own, next] = bundle;
  if (own === undefined) return undefined;
  const selfMade = next !== undefined && own.checkIssued(next);
  const kind = own.ca ? 'authority' : selfMade ? 'self-made' : 'issued';
  return { name, certificate, privateKey, x509: own, bundle, kind };
}

/** Whether a certificate of the authority's file has signed it. */
export function isSignedBy({ x509 }: StoredCertificate, { bundle }: StoredCertificate): boolean {
  return bundle.some((authority) => x509.checkIssued(authority) && x509.verify(authority.publicKey));
}

function readable(der: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
}
