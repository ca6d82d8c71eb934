/** Authentication by client certificates, which are verified against a pool of certificate authorities. */

import { hash, X509Certificate } from 'node:crypto';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import type { Clock } from '#apimachinery/clock.js';
import { LruCache } from '#apimachinery/collections/lru-cache.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { unauthorized } from '#apimachinery/errors/status.js';
import type { Authenticator } from '#apiserver/authentication/authenticator.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';
import { clientAuthOid } from '#pki/certificate.js';
import type { DistinguishedName } from '#pki/distinguished-name.js';
import { certificateSubject } from '#pki/ensure.js';
import { certificateTimes, isVersionOne } from '#pki/x509.js';

export interface CertificatePoolOptions {
  /** Bundle of certificates in PEM. */
  readonly bundle: string;
  readonly clock: Clock;
}

export type CertificateVerdict =
  | { readonly ok: true; readonly subject: DistinguishedName }
  | { readonly ok: false; readonly reason: string };

/** A period; ms since the epoch. */
interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

interface Authority extends Validity {
  readonly certificate: X509Certificate;
  /** Whether the authority may sign: like in Go, certificates of X.509 version 1 may, as they cannot state it. */
  readonly signs: boolean;
}

/** The part of a verdict that does not depend on the time: the clock may be corrected later. */
type Checked =
  | { readonly refused: string }
  | {
      readonly subject: DistinguishedName;
      readonly validity: Validity;
      /** Validity of the authorities that signed it. */
      readonly authorities: readonly Validity[];
    };

const anyUsageOid = '2.5.29.37.0';
const unknownAuthority = 'the certificate is signed by an unknown authority';

export class CertificatePool {
  #authorities: readonly Authority[];
  readonly #clock: Clock;
  /** Each request of a connection has the same certificate, so its signature is checked once. */
  #cache: LruCache<string, Checked>;
  /** All requests of a connection share one buffer, which is never modified. */
  readonly #digests = new WeakMap<Buffer, string>();

  /** Throws RangeError for an empty bundle, and node:crypto's errors for malformed certificates. */
  constructor(options: CertificatePoolOptions) {
    this.#clock = options.clock;
    this.#cache = newCache(options.clock);
    this.#authorities = authoritiesIn(options.bundle);
  }

  /** Replaces the authorities. If it throws, for the reasons of the constructor, the previous ones stay. */
  replace(bundle: string): void {
    this.#authorities = authoritiesIn(bundle);
    this.#cache = newCache(this.#clock);
  }

  /** Checks signature, validity and client usage of a DER certificate. Never throws. */
  verify(der: Buffer): CertificateVerdict {
    const key = this.#digest(der);
    let checked = this.#cache.get(key);
    if (checked === undefined) {
      checked = this.#check(der);
      this.#cache.set(key, checked);
    }
    if ('refused' in checked) return refusal(checked.refused);
    const now = this.#clock.now();
    const { subject, validity, authorities } = checked;
    if (!authorities.some((authority) => isValid(authority, now))) return refusal(unknownAuthority);
    if (now < validity.notBefore) return refusal('the certificate is not valid yet');
    if (now > validity.notAfter) return refusal('the certificate has expired');
    return { ok: true, subject };
  }

  #digest(der: Buffer): string {
    let digest = this.#digests.get(der);
    if (digest === undefined) {
      digest = hash('sha256', der, 'base64');
      this.#digests.set(der, digest);
    }
    return digest;
  }

  #check(der: Buffer): Checked {
    try {
      const certificate = new X509Certificate(der);
      const usages = certificate.keyUsage as string[] | undefined;
      if (!usages?.some((usage) => usage === clientAuthOid || usage === anyUsageOid))
        return { refused: 'the certificate is not meant for clients' };
      const authorities = this.#authorities.filter((authority) => hasSigned(authority, certificate));
      if (authorities.length === 0) return { refused: unknownAuthority };
      return { subject: certificateSubject(der), validity: certificateTimes(der), authorities };
    } catch (error) {
      return { refused: `the certificate cannot be read: ${messageOf(error)}` };
    }
  }
}

function newCache(clock: Clock): LruCache<string, Checked> {
  return new LruCache({ limit: 4096, age: { clock, ttlMs: () => 3600_000 } });
}

function authoritiesIn(bundle: string): Authority[] {
  const authorities = certificatesInPem(bundle).map((der) => {
    const certificate = new X509Certificate(der);
    return { certificate, signs: certificate.ca || isVersionOne(der), ...certificateTimes(der) };
  });
  if (authorities.length === 0) throw new RangeError('the bundle of certificate authorities is empty');
  return authorities;
}

/** All certificates of the pool are trusted, self-signed or not. A client's own certificate in the pool is trusted, too. */
function hasSigned({ certificate: authority, signs }: Authority, certificate: X509Certificate): boolean {
  if (certificate.raw.equals(authority.raw)) return true;
  return signs && certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

function isValid({ notBefore, notAfter }: Validity, now: number): boolean {
  return notBefore <= now && now <= notAfter;
}

function refusal(reason: string): CertificateVerdict {
  return { ok: false, reason };
}

/** Authenticates client certificates: the common name is the user, organizations are groups. */
export class ClientCertificateAuthenticator implements Authenticator {
  readonly #pool: CertificatePool;

  constructor(pool: CertificatePool) {
    this.#pool = pool;
  }

  authenticate(request: ApiRequest): UserInfo | undefined {
    if (request.clientCertificate === undefined) return undefined;
    const verdict = this.#pool.verify(request.clientCertificate);
    if (!verdict.ok) throw unauthorized();
    const { commonName, organizations } = verdict.subject;
    return commonName === '' ? undefined : { name: commonName, groups: organizations, method: 'client-certificate' };
  }
}
