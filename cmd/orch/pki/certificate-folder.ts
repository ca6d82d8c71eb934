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

/** Whether a certificate signs others, is signed by one of the cluster's, or by one that its daemon made for it alone. */
export type CertificateKind = 'authority' | 'issued' | 'self-made';

export interface FoundCertificate extends KeyCertificate {
  readonly name: string;
  readonly x509: X509Certificate;
  /** All in its file: of an authority that is being exchanged, the one that signs, and those that are believed besides. */
  readonly bundle: readonly X509Certificate[];
  readonly kind: CertificateKind;
}

/** Undefined without a certificate that can be read, or without its key. */
export async function findCertificate(files: FileStore, name: string): Promise<FoundCertificate | undefined> {
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

/** Whether one of an authority's file has signed it. */
export function isSignedBy({ x509 }: FoundCertificate, { bundle }: FoundCertificate): boolean {
  return bundle.some((authority) => x509.checkIssued(authority) && x509.verify(authority.publicKey));
}

function readable(der: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
}
