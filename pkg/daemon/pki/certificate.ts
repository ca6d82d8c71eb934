/** Making X.509 certificates (RFC 5280): authorities, servers, clients. */
import { createHash, createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import {
  bitString,
  children,
  element,
  explicit,
  implicit,
  octetString,
  oid,
  readOne,
  sequence,
  tag,
  time,
  trueValue,
  unsignedInteger,
} from '#apimachinery/asn1/der.js';
import { certificatesInPem, encodePem } from '#apimachinery/asn1/pem.js';
import { type DistinguishedName, encodeName } from '#daemon/pki/distinguished-name.js';
import { generateEcKey, type KeyPair, keyPairFromPem, privateKeyToPem, signData } from '#daemon/pki/keys.js';

/** A certificate with its private key, both in PEM. */
export interface KeyCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

/** What a certificate may be used for (extended key usage). */
export type CertificateUsage = 'server' | 'client';

export interface CertificateRequest {
  readonly subject: DistinguishedName;
  readonly publicKey: KeyObject;
  readonly usages: readonly CertificateUsage[];
  /** DNS names (a leading `*.` allowed). */
  readonly names?: readonly string[];
  readonly ips?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface AuthorityOptions {
  readonly commonName: string;
  /** Milliseconds since the epoch: the certificate is valid from a little earlier, for clocks that run behind. */
  readonly now: number;
  readonly validityMs?: number;
  /** Absent: a new ECDSA key. */
  readonly keys?: KeyPair;
}

const yearMs = 365 * 24 * 3600_000;
export const authorityValidityMs = 10 * yearMs;
export const certificateValidityMs = yearMs;
/** Peers whose clock is up to five minutes behind still accept a new certificate. */
export const clockSkewMs = 5 * 60_000;

const usageOids: Record<CertificateUsage, string> = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' };
/** Extended key usage of client certificates, as `X509Certificate.keyUsage` reports it. */
export const clientAuthOid = usageOids.client;

/** A self-signed certificate authority. */
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
      // digitalSignature, keyEncipherment, keyCertSign
      extension('2.5.29.15', element(tag.bitString, Buffer.from([2, 0b1010_0100])), 'critical'),
      extension('2.5.29.19', sequence(trueValue()), 'critical'),
      extension('2.5.29.14', octetString(keyId)),
    ],
  });
  return { certificate: encodePem('CERTIFICATE', der), privateKey: privateKeyToPem(keys.privateKey) };
}

/** A certificate (PEM) over the request's key, signed by the authority. Throws RangeError for an unusable address. */
export function signRequest(authority: KeyCertificate, request: CertificateRequest): string {
  const issuer = readAuthority(authority.certificate);
  const usages = sequence(...request.usages.map((usage) => oid(usageOids[usage])));
  const extensions = [
    // digitalSignature, keyEncipherment
    extension('2.5.29.15', element(tag.bitString, Buffer.from([5, 0b1010_0000])), 'critical'),
    extension('2.5.29.37', usages),
    extension('2.5.29.19', sequence(), 'critical'),
    extension('2.5.29.35', sequence(implicit(0, issuer.keyId))),
  ];
  const alternatives = alternativeNames(request);
  if (alternatives !== undefined) extensions.push(extension('2.5.29.17', alternatives));
  const der = signCertificate({
    issuer: issuer.subject,
    signingKey: keyPairFromPem(authority.privateKey).privateKey,
    subject: encodeName(request.subject),
    publicKey: request.publicKey,
    notBefore: request.notBefore,
    notAfter: Math.min(request.notAfter, issuer.notAfter),
    extensions,
  });
  return encodePem('CERTIFICATE', der);
}

export interface IssueOptions extends Omit<CertificateRequest, 'publicKey' | 'notBefore' | 'notAfter'> {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly validityMs?: number;
}

/** A new key with a certificate for it. */
export async function issueCertificate(authority: KeyCertificate, options: IssueOptions): Promise<KeyCertificate> {
  const keys = await generateEcKey();
  const certificate = signRequest(authority, {
    ...options,
    publicKey: keys.publicKey,
    notBefore: options.now - clockSkewMs,
    notAfter: options.now + (options.validityMs ?? certificateValidityMs),
  });
  return { certificate, privateKey: privateKeyToPem(keys.privateKey) };
}

interface CertificateParts {
  readonly issuer: Buffer;
  readonly signingKey: KeyObject;
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly extensions: readonly Buffer[];
}

function signCertificate(parts: CertificateParts): Buffer {
  // The algorithm stands inside the signed part too, so an empty signature is made first to learn its identifier.
  const { identifier } = signData(parts.signingKey, Buffer.alloc(0));
  const serial = randomBytes(16);
  serial.writeUInt8(((serial[0] ?? 0) & 0x7f) | 0x40, 0);
  const toBeSigned = sequence(
    explicit(0, unsignedInteger(Buffer.from([2]))),
    unsignedInteger(serial),
    identifier,
    parts.issuer,
    sequence(time(parts.notBefore), time(parts.notAfter)),
    parts.subject,
    parts.publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...parts.extensions)),
  );
  const { signature } = signData(parts.signingKey, toBeSigned);
  return sequence(toBeSigned, identifier, bitString(signature));
}

function extension(id: string, value: Buffer, critical?: 'critical'): Buffer {
  const flag = critical === undefined ? [] : [trueValue()];
  return sequence(oid(id), ...flag, octetString(value));
}

/** SHA-1 of the key's bits: the usual identifier (RFC 5280 4.2.1.2, method 1); no security rests on it. */
function keyIdentifier(key: KeyObject): Buffer {
  const bits = children(readOne(key.export({ type: 'spki', format: 'der' })))[1];
  return createHash('sha1')
    .update(bits?.contents.subarray(1) ?? Buffer.alloc(0))
    .digest();
}

function alternativeNames(request: Pick<CertificateRequest, 'names' | 'ips'>): Buffer | undefined {
  const names = (request.names ?? []).map((name) => implicit(2, Buffer.from(name, 'latin1')));
  const ips = (request.ips ?? []).map((ip) => implicit(7, addressBytes(ip)));
  return names.length + ips.length === 0 ? undefined : sequence(...names, ...ips);
}

/** The 4 or 16 bytes of an IP address. Throws RangeError. */
export function addressBytes(ip: string): Buffer {
  if (isIPv4(ip)) return Buffer.from(ip.split('.').map(Number));
  if (!isIPv6(ip)) throw new RangeError(`"${ip}" is no IP address`);
  const embedded = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(ip);
  let text = ip;
  if (embedded !== null) {
    const [a, b, c, d] = embedded.slice(2).map(Number);
    text = `${embedded[1]}${((a ?? 0) * 256 + (b ?? 0)).toString(16)}:${((c ?? 0) * 256 + (d ?? 0)).toString(16)}`;
  }
  const [head = '', tail] = text.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const middle = new Array<string>(8 - left.length - right.length).fill('0');
  const groups = tail === undefined ? left : [...left, ...middle, ...right];
  const bytes = Buffer.alloc(16);
  for (const [i, group] of groups.entries()) bytes.writeUInt16BE(Number.parseInt(group, 16), i * 2);
  return bytes;
}

interface Authority {
  /** DER of the name, exactly as it stands in the certificate: issuers are compared byte by byte. */
  readonly subject: Buffer;
  readonly keyId: Buffer;
  readonly notAfter: number;
}

function readAuthority(pem: string): Authority {
  const der = certificatesInPem(pem)[0];
  if (der === undefined) throw new RangeError('the authority has no certificate');
  const body = children(children(readOne(der))[0]);
  // version [0] is optional in theory; every authority is a version 3 certificate.
  const fields = body[0]?.tag === 0xa0 ? body.slice(1) : body;
  const subject = fields[4];
  if (subject === undefined) throw new RangeError('the authority certificate has no subject');
  const publicKey = createPublicKey({ key: encodePem('CERTIFICATE', der), format: 'pem' });
  return { subject: subject.bytes, keyId: keyIdentifier(publicKey), notAfter: certificateTimes(der).notAfter };
}

/** From when to when a certificate (DER) is valid, in milliseconds since the epoch. Throws `DerError`. */
export function certificateTimes(der: Buffer): { notBefore: number; notAfter: number } {
  const body = children(children(readOne(der))[0]);
  const fields = body[0]?.tag === 0xa0 ? body.slice(1) : body;
  const [from, to] = children(fields[3]);
  return { notBefore: timeOf(from?.contents), notAfter: timeOf(to?.contents) };
}

function timeOf(contents: Buffer | undefined): number {
  const text = contents?.toString('latin1') ?? '';
  const digits = text.replace('Z', '');
  const year =
    digits.length === 12 ? `${Number(digits.slice(0, 2)) < 50 ? '20' : '19'}${digits.slice(0, 2)}` : digits.slice(0, 4);
  const rest = digits.slice(-10);
  const pair = (i: number) => rest.slice(i * 2, i * 2 + 2);
  return Date.parse(`${year}-${pair(0)}-${pair(1)}T${pair(2)}:${pair(3)}:${pair(4)}Z`);
}

/** Days until the first certificate of a PEM ends, negative when it has. Throws RangeError when there is none. */
export function daysLeft(certificatePem: string, now: number): number {
  const der = certificatesInPem(certificatePem)[0];
  if (der === undefined) throw new RangeError('no certificate in this PEM');
  return (certificateTimes(der).notAfter - now) / (24 * 3600_000);
}
