/** Certificate authorities, and whether they vouch for a client certificate. */

import { hash, X509Certificate } from 'node:crypto';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { BoundedCache } from '#apiserver/objects/bounded-cache.js';
import { certificateTimes, clientAuthOid } from '#daemon/pki/certificate.js';
import type { DistinguishedName } from '#daemon/pki/distinguished-name.js';
import { certificateSubject } from '#daemon/pki/ensure.js';

export interface CertificatePoolOptions {
  /** PEM bundle. */
  readonly bundle: string;
  readonly clock: Clock;
}

export type CertificateVerdict =
  | { readonly ok: true; readonly subject: DistinguishedName }
  | { readonly ok: false; readonly reason: string };

interface Authority {
  readonly certificate: X509Certificate;
  readonly notBefore: number;
  readonly notAfter: number;
}

interface Verified {
  readonly verdict: CertificateVerdict;
  readonly notBefore: number;
  readonly notAfter: number;
}

const anyUsageOid = '2.5.29.37.0';

export class CertificatePool {
  readonly #authorities: readonly Authority[];
  readonly #clock: Clock;
  /** A connection's certificate comes with each of its requests: the signatures are checked once. */
  readonly #cache: BoundedCache<Verified>;
  /** All requests of a connection come with the same bytes, which nobody changes. */
  readonly #digests = new WeakMap<Buffer, string>();

  /** Throws RangeError when the bundle holds no certificate, and node:crypto's errors for damaged ones. */
  constructor(options: CertificatePoolOptions) {
    this.#clock = options.clock;
    this.#cache = new BoundedCache({ clock: options.clock, size: 4096, ttlMs: 3600_000 });
    this.#authorities = certificatesInPem(options.bundle).map((der) => ({
      certificate: new X509Certificate(der),
      ...certificateTimes(der),
    }));
    if (this.#authorities.length === 0) throw new RangeError('the bundle of certificate authorities is empty');
  }

  /** Checks signature, validity and client usage of a certificate in DER. Never throws. */
  verify(der: Buffer): CertificateVerdict {
    const key = this.#digest(der);
    let verified = this.#cache.get(key);
    if (verified === undefined) {
      verified = this.#check(der);
      this.#cache.set(key, verified);
    }
    const now = this.#clock.now();
    if (now < verified.notBefore) return { ok: false, reason: 'the certificate is not valid yet' };
    if (now > verified.notAfter) return { ok: false, reason: 'the certificate has expired' };
    return verified.verdict;
  }

  #digest(der: Buffer): string {
    let digest = this.#digests.get(der);
    if (digest === undefined) {
      digest = hash('sha256', der, 'base64');
      this.#digests.set(der, digest);
    }
    return digest;
  }

  #check(der: Buffer): Verified {
    const always = { notBefore: Number.NEGATIVE_INFINITY, notAfter: Number.POSITIVE_INFINITY };
    const refused = (reason: string): Verified => ({ verdict: { ok: false, reason }, ...always });
    try {
      const certificate = new X509Certificate(der);
      const usages = certificate.keyUsage as string[] | undefined;
      if (!usages?.some((usage) => usage === clientAuthOid || usage === anyUsageOid))
        return refused('the certificate is not meant for clients');
      if (!this.#issued(certificate)) return refused('the certificate is signed by an unknown authority');
      return { verdict: { ok: true, subject: certificateSubject(der) }, ...certificateTimes(der) };
    } catch (error) {
      return refused(`the certificate cannot be read: ${messageOf(error)}`);
    }
  }

  /** True when an authority of the pool that is valid now signed it: all in the pool are trusted, self-signed or not. */
  #issued(certificate: X509Certificate): boolean {
    const now = this.#clock.now();
    return this.#authorities.some(
      (authority) =>
        now >= authority.notBefore &&
        now <= authority.notAfter &&
        authority.certificate.ca &&
        certificate.checkIssued(authority.certificate) &&
        certificate.verify(authority.certificate.publicKey),
    );
  }
}
