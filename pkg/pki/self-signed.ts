/** The serving certificate of a daemon whose options name none. */
import { createAuthority, issueCertificate, type KeyCertificate } from '#pki/certificate.js';
import type { KeyPair } from '#pki/keys.js';

export interface SelfSignedOptions {
  readonly commonName: string;
  readonly names: readonly string[];
  readonly ips: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Absent: a new ECDSA key. */
  readonly keys?: KeyPair;
}

/**
 * Issues a serving certificate under an authority of its own, whose key is thrown away. The certificate text holds both
 * certificates, so that clients can pin the authority from the file.
 */
export async function createSelfSigned(options: SelfSignedOptions): Promise<KeyCertificate> {
  const stamp = Math.floor(options.now / 1000);
  const authority = await createAuthority({ commonName: `${options.commonName}-ca@${stamp}`, now: options.now });
  const issued = await issueCertificate(authority, {
    subject: { commonName: `${options.commonName}@${stamp}`, organizations: [] },
    usages: ['server'],
    names: options.names,
    ips: options.ips,
    now: options.now,
    keys: options.keys,
  });
  return { certificate: issued.certificate + authority.certificate, privateKey: issued.privateKey };
}
