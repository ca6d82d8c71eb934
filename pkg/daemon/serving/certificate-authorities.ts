/** A CA bundle that verifies client certificates. */
import { X509Certificate } from 'node:crypto';

export class CertificateAuthorities {
  readonly #authorities: readonly X509Certificate[];

  /** Throws Error if the text has no certificate or an unreadable one. */
  constructor(pem: string) {
    const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
    if (blocks.length === 0) throw new Error('no certificate in the bundle');
    this.#authorities = blocks.map((block) => new X509Certificate(block));
  }

  /**
   * Whether the certificate is for clients, valid at `nowMs`, and either in the bundle or signed by one of its
   * authorities. Intermediate authorities must be in the bundle.
   */
  verifies(certificate: X509Certificate, nowMs: number): boolean {
    if (!isCurrent(certificate, nowMs) || !isForClients(certificate)) return false;
    return this.#authorities.some(
      (authority) =>
        certificate.raw.equals(authority.raw) ||
        (authority.ca &&
          isCurrent(authority, nowMs) &&
          certificate.checkIssued(authority) &&
          certificate.verify(authority.publicKey)),
    );
  }
}

function isCurrent(certificate: X509Certificate, nowMs: number): boolean {
  return Date.parse(certificate.validFrom) <= nowMs && nowMs <= Date.parse(certificate.validTo);
}

const clientAuth = '1.3.6.1.5.5.7.3.2';
const anyUsage = '2.5.29.37.0';

/** A certificate without extended key usages may be used for anything. */
function isForClients(certificate: X509Certificate): boolean {
  // Node.js returns extended key usages under this name; undefined without any.
  const usages = certificate.keyUsage as readonly string[] | undefined;
  return usages === undefined || usages.length === 0 || usages.includes(clientAuth) || usages.includes(anyUsage);
}
