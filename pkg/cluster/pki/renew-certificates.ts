/**
 * Renews the certificates of a cluster on its machine. The cluster may be running: its daemons read the files again.
 * Authorities are not renewed.
 */
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import { editClientConfig } from '#cluster/clients/client-config.js';
import type { Layout } from '#cluster/config/layout.js';
import {
  certificateFile,
  certificateNames,
  findCertificate,
  isSignedBy,
  type StoredCertificate,
} from '#cluster/pki/certificate-folder.js';
import type { KeyCertificate } from '#pki/certificate.js';
import {
  certificateSubject,
  defaultRenewBeforeMs,
  renewCertificate,
  renewSelfSigned,
  saveKeyCertificate,
} from '#pki/ensure.js';
import { directoryStore, type FileStore } from '#pki/file-store.js';
import { certificateTimes } from '#pki/x509.js';

export interface RenewalOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Time before its end at which a certificate is renewed; 30 days when absent. */
  readonly renewBeforeMs?: number;
  /** Validity of the new certificates; a year when absent. */
  readonly validityMs?: number;
  /** File names without `.crt`; all certificates when absent. */
  readonly names?: readonly string[];
}

export interface Renewal {
  /** Files of the renewed certificates. */
  readonly renewed: readonly string[];
  /** Files of the certificates that are due and cannot be renewed on this machine, with the reason. */
  readonly failed: ReadonlyMap<string, string>;
}

/** Throws the file system's errors. */
export async function renewCertificates(layout: Layout, options: RenewalOptions): Promise<Renewal> {
  const { now, renewBeforeMs = defaultRenewBeforeMs, names } = options;
  const files = directoryStore(layout.pki);
  const all = await Promise.all(certificateNames(layout.pki).map((name) => findCertificate(files, name)));
  const certificates = all.filter((each) => each !== undefined);
  const authorities = certificates.filter(({ kind }) => kind === 'authority');
  const renewed: string[] = [];
  const failed = new Map<string, string>();
  for (const each of certificates) {
    if (each.kind === 'authority' || names?.includes(each.name) === false) continue;
    if (certificateTimes(each.x509.raw).notAfter >= now + renewBeforeMs) continue;
    const signer = authorities.find((authority) => isSignedBy(each, authority));
    if (signer === undefined && each.kind !== 'self-made') {
      failed.set(certificateFile(each.name), 'the key of its authority is not on this machine');
      continue;
    }
    await renewOne(files, each, signer, options);
    renewed.push(certificateFile(each.name));
  }
  // Even when nothing was renewed now: the last renewal may have been interrupted before this step.
  const admin = await findCertificate(files, 'admin');
  const authority = await files.read(certificateFile('ca'));
  if (admin !== undefined && authority !== undefined) updateAdminConfig(layout.clientConfig, admin, authority);
  return { renewed, failed };
}

async function renewOne(
  files: FileStore,
  { certificate, name }: StoredCertificate,
  signer: StoredCertificate | undefined,
  { now, validityMs }: RenewalOptions,
): Promise<void> {
  const times = { now, ...(validityMs === undefined ? {} : { validityMs }) };
  const renewal =
    signer === undefined
      ? await renewSelfSigned(certificate, times)
      : await renewCertificate(certificate, signer, times);
  await saveKeyCertificate(files, name, renewal);
}

/** Puts certificate, key and authority into the administrator's portable client config, which embeds them. */
function updateAdminConfig(file: string, pair: KeyCertificate, authority: string): void {
  const encoded = (pem: string) => Buffer.from(pem).toString('base64');
  editClientConfig(file, ({ clusters, users }) => {
    for (const { cluster } of clusters)
      if (cluster['certificate-authority-data'] !== undefined)
        cluster['certificate-authority-data'] = encoded(authority);
    for (const { user } of users) {
      const held = Buffer.from(user['client-certificate-data'] ?? '', 'base64').toString();
      if (held === pair.certificate || userOf(held) !== userOf(pair.certificate)) continue;
      user['client-certificate-data'] = encoded(pair.certificate);
      user['client-key-data'] = encoded(pair.privateKey);
    }
  });
}

function userOf(pem: string): string | undefined {
  const der = certificatesInPem(pem)[0];
  return der === undefined ? undefined : certificateSubject(der).commonName;
}
