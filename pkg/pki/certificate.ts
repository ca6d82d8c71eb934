/** Issues X.509 certificates (RFC 5280): authorities, servers, clients. */
import type { KeyObject } from 'node:crypto';
import { implicit, octetString, oid, sequence, trueValue } from '#apimachinery/asn1/der.js';
import { encodePem } from '#apimachinery/asn1/pem.js';
import { addressBytes } from '#apimachinery/net/ip.js';
import { type DistinguishedName, encodeName } from '#pki/distinguished-name.js';
import { generateEcKey, type KeyPair, keyPairFromPem, privateKeyToPem } from '#pki/keys.js';
import { encodeKeyUsages, type KeyUsage, type Purpose, purposeOids } from '#pki/usages.js';
import { extension, extensionOid, keyIdentifier, readAuthority, signCertificate } from '#pki/x509.js';

/** A certificate with its private key, both in PEM. */
export interface KeyCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

/** The signed content of a certificate. */
export interface CertificateContent {
  /** DER of the name of the key's holder. */
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly keyUsages: readonly KeyUsage[];
  readonly purposes: readonly Purpose[];
  /** DER of the alternative names, if any. */
  readonly alternatives?: Buffer | undefined;
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  /** Capped by the end of the authority. */
  readonly notAfter: number;
}

export interface AuthorityOptions {
  readonly commonName: string;
  /** Milliseconds since the epoch. The certificate is valid from five minutes earlier, for clocks that run behind. */
  readonly now: number;
  readonly validityMs?: number;
  /** Absent: a new ECDSA key. */
  readonly keys?: KeyPair;
}

const yearMs = 365 * 24 * 3600_000;
const authorityValidityMs = 10 * yearMs;
const certificateValidityMs = yearMs;
/** Peers whose clock is up to five minutes behind still accept a new certificate. */
const clockSkewMs = 5 * 60_000;

/** Extended key usage of client certificates, as `X509Certificate.keyUsage` reports it. */
export const clientAuthOid = purposeOids.client;

/** Creates a self-signed certificate authority. */
export async function createAuthority(options: AuthorityOptions): Promise<KeyCertificate> {
  const keys = options.keys ?? (await generateEcKey());
  const name = encodeName({ commonName: options.commonName, organizations: [] });
  const keyId = keyIdentifier(keys.publicKey);
  const der = signCertificate({
    issuer: name,
    signingKey: keys.privateKey,
    subject: name,
    publicKey: keys.publicKey,
    notBefore: options.now - clockSkewMs,
    notAfter: options.now + (options.validityMs ?? authorityValidityMs),
    extensions: [
      extension(
        extensionOid.keyUsage,
        encodeKeyUsages(['digitalSignature', 'keyEncipherment', 'certSign']),
        'critical',
      ),
      extension(extensionOid.basicConstraints, sequence(trueValue()), 'critical'),
      extension(extensionOid.subjectKeyId, octetString(keyId)),
    ],
  });
  return { certificate: encodePem('CERTIFICATE', der), privateKey: privateKeyToPem(keys.privateKey) };
}

/**
 * Signs a certificate (PEM) of a key, which cannot sign further certificates. Throws RangeError for an authority that
 * cannot sign.
 */
export function certify(authority: KeyCertificate, content: CertificateContent): string {
  const issuer = readAuthority(authority.certificate);
  const { subject, publicKey, keyUsages, purposes, alternatives, notBefore, notAfter } = content;
  const extensions: Buffer[] = [];
  if (keyUsages.length > 0) extensions.push(extension(extensionOid.keyUsage, encodeKeyUsages(keyUsages), 'critical'));
  if (purposes.length > 0) {
    const ids = purposes.map((purpose) => oid(purposeOids[purpose]));
    extensions.push(extension(extensionOid.extendedKeyUsage, sequence(...ids)));
  }
  extensions.push(
    extension(extensionOid.basicConstraints, sequence(), 'critical'),
    extension(extensionOid.authorityKeyId, sequence(implicit(0, issuer.keyId))),
  );
  if (alternatives !== undefined) {
    // They are critical where the subject is empty (RFC 5280 4.2.1.6).
    const nameless = subject.equals(sequence());
    extensions.push(extension(extensionOid.alternativeNames, alternatives, nameless ? 'critical' : undefined));
  }
  const der = signCertificate({
    issuer: issuer.subject,
    signingKey: keyPairFromPem(authority.privateKey).privateKey,
    subject,
    publicKey,
    notBefore,
    notAfter: Math.min(notAfter, issuer.notAfter),
    extensions,
  });
  return encodePem('CERTIFICATE', der);
}

export interface IssueOptions {
  readonly subject: DistinguishedName;
  readonly usages: readonly Purpose[];
  /** DNS names; a leading `*.` is allowed. */
  readonly names?: readonly string[];
  readonly ips?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly validityMs?: number;
  /** Absent: a new ECDSA key. */
  readonly keys?: KeyPair | undefined;
}

/** Signs a certificate, for a new key if none is given. Throws RangeError for an invalid address. */
export async function issueCertificate(authority: KeyCertificate, options: IssueOptions): Promise<KeyCertificate> {
  const keys = options.keys ?? (await generateEcKey());
  const certificate = certify(authority, {
    subject: encodeName(options.subject),
    publicKey: keys.publicKey,
    keyUsages: ['digitalSignature', 'keyEncipherment'],
    purposes: options.usages,
    alternatives: alternativeNames(options),
    notBefore: options.now - clockSkewMs,
    notAfter: options.now + (options.validityMs ?? certificateValidityMs),
  });
  return { certificate, privateKey: privateKeyToPem(keys.privateKey) };
}

function alternativeNames({ names = [], ips = [] }: Pick<IssueOptions, 'names' | 'ips'>): Buffer | undefined {
  const alternatives = serverNames({ dns: names, ips });
  return alternatives.length === 0 ? undefined : sequence(...alternatives);
}

/** DER of a server's alternative names, for certificates and requests. Throws RangeError for an invalid address. */
export function serverNames({
  dns,
  ips,
}: {
  readonly dns: readonly string[];
  readonly ips: readonly string[];
}): Buffer[] {
  return [
    ...dns.map((name) => implicit(2, Buffer.from(name, 'latin1'))),
    ...ips.map((ip) => implicit(7, encodeAddress(ip))),
  ];
}

/** The 4 or 16 bytes of an IP address in a certificate. Throws RangeError. */
export function encodeAddress(ip: string): Buffer {
  const bytes = addressBytes(ip);
  if (bytes === undefined) throw new RangeError(`"${ip}" is no IP address`);
  return Buffer.from(bytes);
}
