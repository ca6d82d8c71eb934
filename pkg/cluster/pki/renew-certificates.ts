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
import { SetupError } from '#cluster/terminal/setup-error.js';
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
  /** Names of files, with or without folder and ending; all certificates when absent or empty. */
  readonly names?: readonly string[];
}

export interface Renewal {
  /** Files of the renewed certificates. */
  readonly renewed: readonly string[];
  /** Files of the certificates that are due and cannot be renewed on this machine, with the reason. */
  readonly failed: ReadonlyMap<string, string>;
}

/** A certificate and the way to replace it where it is stored. */
export interface RenewableCertificate {
  readonly file: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
  /** Resolves with the reason when it cannot be renewed on this machine. */
  renew(): Promise<string | undefined>;
}

/** Renews the certificates that are due. Rejects with the errors of `renew`. */
export async function renewDue(
  certificates: readonly RenewableCertificate[],
  { now, renewBeforeMs = defaultRenewBeforeMs }: RenewalOptions,
): Promise<Renewal> {
  const renewed: string[] = [];
  const failed = new Map<string, string>();
  for (const certificate of certificates) {
    if (certificate.notAfter >= now + renewBeforeMs) continue;
    const problem = await certificate.renew();
    if (problem === undefined) renewed.push(certificate.file);
    else failed.set(certificate.file, problem);
  }
  return { renewed, failed };
}

/**
 * The requested ones of the existing names; all when none is requested. Throws a SetupError for an unknown one.
 * @param affixes Folder and ending of the files.
 */
export function selectNames(existing: readonly string[], requested: readonly string[], affixes: RegExp): string[] {
  const names = requested.map((name) => name.replace(affixes, ''));
  const unknown = names.filter((name) => !existing.includes(name));
  if (unknown.length > 0)
    throw new SetupError(`there is no certificate ${unknown.join(', ')}; there are: ${existing.join(', ')}`);
  return existing.filter((name) => names.length === 0 || names.includes(name));
}

/** Throws a SetupError for an unknown name, and the file system's errors. */
export async function renewCertificates(layout: Layout, options: RenewalOptions): Promise<Renewal> {
  const files = directoryStore(layout.pki);
  const existing = certificateNames(layout.pki);
  const names = selectNames(existing, options.names ?? [], /^pki\/|\.crt$/g);
  const all = await Promise.all(existing.map((name) => findCertificate(files, name)));
  const certificates = all.filter((each) => each !== undefined);
  const authorities = certificates.filter(({ kind }) => kind === 'authority');
  const candidates = certificates.filter(({ kind, name }) => kind !== 'authority' && names.includes(name));
  const renewal = await renewDue(
    candidates.map((each) => ({
      file: certificateFile(each.name),
      notAfter: certificateTimes(each.x509.raw).notAfter,
      renew: () => renewOne(files, each, authorities, options),
    })),
    options,
  );
  // Even when nothing was renewed now: the last renewal may have been interrupted before this step.
  const admin = await findCertificate(files, 'admin');
  const authority = await files.read(certificateFile('ca'));
  if (admin !== undefined && authority !== undefined) updateAdminConfig(layout.clientConfig, admin, authority);
  return renewal;
}

async function renewOne(
  files: FileStore,
  stored: StoredCertificate,
  authorities: readonly StoredCertificate[],
  { now, validityMs }: RenewalOptions,
): Promise<string | undefined> {
  const { certificate, kind, name } = stored;
  const signer = authorities.find((authority) => isSignedBy(stored, authority));
  if (signer === undefined && kind !== 'self-made') return 'the key of its authority is not on this machine';
  const times = { now, ...(validityMs === undefined ? {} : { validityMs }) };
  const renewal =
    signer === undefined
      ? await renewSelfSigned(certificate, times)
      : await renewCertificate(certificate, signer, times);
  await saveKeyCertificate(files, name, renewal);
  return undefined;
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
