/**
 * Renews the certificates of a cluster on its machine, while it runs or not: whoever holds one reads its files again.
 * Authorities stay.
 */
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import {
  certificateFile,
  certificateNames,
  type FoundCertificate,
  findCertificate,
  isSignedBy,
} from '#cmd/orch/pki/certificate-folder.js';
import { editClientConfig } from '#cmd/orch/process/edit-client-config.js';
import type { KeyCertificate } from '#pki/certificate.js';
import { certificateSubject, defaultRenewBeforeMs, saveKeyCertificate } from '#pki/ensure.js';
import { directoryStore, type FileStore } from '#pki/file-store.js';
import { renewCertificate, renewSelfSigned } from '#pki/renew.js';
import { certificateTimes } from '#pki/x509.js';

export interface RenewalOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** What ends sooner than this is renewed; 30 days when absent. */
  readonly renewBeforeMs?: number;
  /** How long the new ones last; a year when absent. */
  readonly validityMs?: number;
  /** Of files, without their ending; all when absent. */
  readonly names?: readonly string[];
}

export interface Renewal {
  /** Files of what was renewed. */
  readonly renewed: readonly string[];
  /** Files of what is due and cannot be renewed here, with the reason. */
  readonly failed: ReadonlyMap<string, string>;
}

/** Throws the file system's errors. */
export async function renewCertificates(layout: Layout, options: RenewalOptions): Promise<Renewal> {
  const { now, renewBeforeMs = defaultRenewBeforeMs, names } = options;
  const files = directoryStore(layout.pki);
  const all = await Promise.all(certificateNames(layout.pki).map((name) => findCertificate(files, name)));
  const found = all.filter((each) => each !== undefined);
  const authorities = found.filter(({ kind }) => kind === 'authority');
  const renewed: string[] = [];
  const failed = new Map<string, string>();
  for (const each of found) {
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
  // Not only what was renewed now: the last time may have been interrupted.
  const admin = await findCertificate(files, 'admin');
  const authority = await files.read(certificateFile('ca'));
  if (admin !== undefined && authority !== undefined) giveOut(layout.clientConfig, admin, authority);
  return { renewed, failed };
}

async function renewOne(
  files: FileStore,
  { certificate, name }: FoundCertificate,
  signer: FoundCertificate | undefined,
  { now, validityMs }: RenewalOptions,
): Promise<void> {
  const times = { now, ...(validityMs === undefined ? {} : { validityMs }) };
  const made =
    signer === undefined
      ? await renewSelfSigned(certificate, times)
      : await renewCertificate(certificate, signer, times);
  await saveKeyCertificate(files, name, made);
}

/** Into a client config that has its user's certificate itself, and whom to believe, so that people can take it elsewhere. */
function giveOut(file: string, pair: KeyCertificate, authority: string): void {
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
