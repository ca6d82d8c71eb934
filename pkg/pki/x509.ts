/** Encoding and parsing of X.509 certificates (RFC 5280). */
import { createHash, createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import {
  bitString,
  children,
  type DerElement,
  explicit,
  octetString,
  oid,
  oidText,
  readOne,
  sequence,
  tag,
  time,
  trueValue,
  unsignedInteger,
} from '#apimachinery/asn1/der.js';
import { certificatesInPem, encodePem } from '#apimachinery/asn1/pem.js';
import { signData } from '#pki/keys.js';

/** Object identifiers of extensions. */
export const extensionOid = {
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  alternativeNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const;

export interface CertificateParts {
  readonly issuer: Buffer;
  readonly signingKey: KeyObject;
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly extensions: readonly Buffer[];
}

/** DER of a certificate with a random serial number. Throws RangeError for a key that cannot sign. */
export function signCertificate(parts: CertificateParts): Buffer {
  // The signed part contains the algorithm, so sign nothing first to get its identifier.
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

export function extension(id: string, value: Buffer, critical?: 'critical'): Buffer {
  const flag = critical === undefined ? [] : [trueValue()];
  return sequence(oid(id), ...flag, octetString(value));
}

/** SHA-1 of the key's bits: the usual identifier (RFC 5280 4.2.1.2, method 1). It need not be secure. */
export function keyIdentifier(key: KeyObject): Buffer {
  const bits = children(readOne(key.export({ type: 'spki', format: 'der' })))[1];
  return createHash('sha1')
    .update(bits?.contents.subarray(1) ?? Buffer.alloc(0))
    .digest();
}

export interface Authority {
  /** DER of the name, copied from the certificate: issuers are compared byte by byte. */
  readonly subject: Buffer;
  readonly keyId: Buffer;
  readonly notAfter: number;
}

/** Parses the first certificate of a PEM. Throws RangeError or `DerError`. */
export function readAuthority(pem: string): Authority {
  const der = certificatesInPem(pem)[0];
  if (der === undefined) throw new RangeError('the authority has no certificate');
  const fields = certificateFields(der);
  const subject = fields[4];
  if (subject === undefined) throw new RangeError('the authority certificate has no subject');
  const publicKey = createPublicKey({ key: encodePem('CERTIFICATE', der), format: 'pem' });
  return {
    subject: subject.bytes,
    keyId: subjectKeyId(fields) ?? keyIdentifier(publicKey),
    notAfter: certificateTimes(der).notAfter,
  };
}

/** Validity of a certificate (DER), in milliseconds since the epoch. Throws `DerError`. */
export function certificateTimes(der: Buffer): { notBefore: number; notAfter: number } {
  const [from, to] = children(certificateFields(der)[3]);
  return { notBefore: parseTime(from?.contents), notAfter: parseTime(to?.contents) };
}

/** Parses a UTCTime or a GeneralizedTime. */
function parseTime(contents: Buffer | undefined): number {
  const text = contents?.toString('latin1') ?? '';
  const digits = text.replace('Z', '');
  const year =
    digits.length === 12 ? `${Number(digits.slice(0, 2)) < 50 ? '20' : '19'}${digits.slice(0, 2)}` : digits.slice(0, 4);
  const rest = digits.slice(-10);
  const pair = (i: number) => rest.slice(i * 2, i * 2 + 2);
  return Date.parse(`${year}-${pair(0)}-${pair(1)}T${pair(2)}:${pair(3)}:${pair(4)}Z`);
}

/** Whether a certificate (DER) is of X.509 version 1, which cannot mark authorities. */
export function isVersionOne(der: Buffer): boolean {
  return children(children(readOne(der))[0])[0]?.tag !== 0xa0;
}

/** Fields of a certificate (DER): serial number, algorithm, issuer, validity, subject, key, optional ones. Throws `DerError`. */
export function certificateFields(der: Buffer): DerElement[] {
  const body = children(children(readOne(der))[0]);
  // Only version 1 certificates lack the version field.
  return body[0]?.tag === 0xa0 ? body.slice(1) : body;
}

/** The subject key identifier of a certificate, by which verifiers find the issuer. */
function subjectKeyId(fields: readonly DerElement[]): Buffer | undefined {
  const extensions = fields.find((field) => field.tag === 0xa3);
  if (extensions === undefined) return undefined;
  for (const each of children(children(extensions, 0xa3)[0])) {
    const parts = children(each);
    const value = parts.at(-1);
    if (parts[0] === undefined || value?.tag !== tag.octetString) continue;
    if (oidText(parts[0].contents) === extensionOid.subjectKeyId) return readOne(value.contents).contents;
  }
  return undefined;
}
