/** The serving certificate that a daemon makes for itself when it is given none. */
import { createAuthority, issueCertificate, type KeyCertificate } from '#pki/certificate.js';

export interface SelfSignedOptions {
  readonly commonName: string;
  readonly names: readonly string[];
  readonly ips: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * A serving certificate under an authority made for it alone (whose key is forgotten): the certificate text holds
 * both, so that clients can pin the authority from the file.
 */
export async function createSelfSigned(options: SelfSignedOptions): Promise<KeyCertificate> {
  const stamp = Math.floor(options.now / 1000);
  const authority = await createAuthority({ commonName: `${options.commonName}-ca@${stamp}`, now: options.now });
  const made = await issueCertificate(authority, {
    subject: { commonName: `${options.commonName}@${stamp}`, organizations: [] },
    usages: ['server'],
    names: options.names,
    ips: options.ips,
    now: options.now,
  });
  return { certificate: made.certificate + authority.certificate, privateKey: made.privateKey };
}
