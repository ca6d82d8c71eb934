/** Certificate requests in PKCS#10 (RFC 2986): parses them and verifies that the requester has the private key. */

import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { children, type DerElement, DerError, oidText, readOne, sequence, tag } from '#apimachinery/asn1/der.js';
import { decodePem } from '#apimachinery/asn1/pem.js';
import { messageOf } from '#apimachinery/errors/message.js';

/** Not a certificate request, or not signed by its own key. */
export class CertificateRequestError extends Error {
  override readonly name = 'CertificateRequestError';
}

/** Hashes of the supported signature algorithms; null if the algorithm includes its hash. */
const hashes: Readonly<Record<string, string | null>> = {
  '1.2.840.113549.1.1.5': 'sha1',
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.2.840.10045.4.1': 'sha1',
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
  '1.3.101.112': null,
};

const extensionRequestOid = '1.2.840.113549.1.9.14';
const alternativeNamesOid = '2.5.29.17';

/** Context tags of supported alternative names (RFC 5280 4.2.1.6). */
const nameTags = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const;

/** Requested subject alternative names. */
export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
  /** 4 or 16 bytes each. */
  readonly ips: readonly Buffer[];
  /** The supported names in DER, ready for the certificate; undefined without names. */
  readonly der: Buffer | undefined;
}

/** A certificate request with a valid signature. */
export interface CertificateRequest {
  /** The subject of the certificate. */
  readonly subject: DerElement;
  readonly publicKey: KeyObject;
  readonly names: AlternativeNames;
}

/** `request` is the base64 of a PEM text. Throws `CertificateRequestError`. */
export function readCertificateRequest(request: string): CertificateRequest {
  const [block] = decodePem(Buffer.from(request, 'base64').toString('latin1'));
  if (block?.label !== 'CERTIFICATE REQUEST') {
    throw new CertificateRequestError('PEM block type must be CERTIFICATE REQUEST');
  }
  const signed = parse(block.der);
  if (!signatureHolds(signed)) throw new CertificateRequestError('the signature is not that of the requested key');
  return signed;
}

interface SignedRequest extends CertificateRequest {
  /** The signed bytes. */
  readonly info: Buffer;
  readonly algorithm: string;
  readonly signature: Buffer;
}

function parse(der: Buffer): SignedRequest {
  try {
    const [info, algorithm, signature] = children(readOne(der));
    const [version, subject, publicKey, attributes] = children(info);
    if (version?.tag !== tag.integer || version.contents.length !== 1 || version.contents[0] !== 0) {
      throw new DerError('unsupported version');
    }
    // Names are sequences of sets; their texts are not decoded here.
    for (const part of children(subject)) children(part, tag.set);
    const [id] = children(algorithm);
    if (info === undefined || subject === undefined || publicKey === undefined || id?.tag !== tag.oid) {
      throw new DerError('element is missing');
    }
    if (signature?.tag !== tag.bitString) throw new DerError('element is missing');
    return {
      info: info.bytes,
      subject,
      publicKey: createPublicKey({ key: publicKey.bytes, format: 'der', type: 'spki' }),
      names: alternativeNames(attributes),
      algorithm: oidText(id.contents),
      // The first byte counts unused bits; signatures have none.
      signature: signature.contents.subarray(1),
    };
  } catch (error) {
    const why = messageOf(error);
    throw new CertificateRequestError(`unable to parse csr: ${why}`, { cause: error });
  }
}

function alternativeNames(attributes: DerElement | undefined): AlternativeNames {
  const requested = requestedExtension(attributes, alternativeNamesOid);
  const dns: string[] = [];
  const emails: string[] = [];
  const uris: string[] = [];
  const ips: Buffer[] = [];
  const supportedNames: Buffer[] = [];
  for (const { tag: kind, contents, bytes } of requested === undefined ? [] : children(readOne(requested))) {
    if (kind === nameTags.dns) dns.push(contents.toString('latin1'));
    else if (kind === nameTags.email) emails.push(contents.toString('latin1'));
    else if (kind === nameTags.uri) uris.push(contents.toString('latin1'));
    else if (kind === nameTags.ip) {
      if (contents.length !== 4 && contents.length !== 16) throw new DerError('an IP address has 4 or 16 bytes');
      ips.push(contents);
    } else continue;
    supportedNames.push(bytes);
  }
  return { dns, emails, uris, ips, der: supportedNames.length === 0 ? undefined : sequence(...supportedNames) };
}

/** Attributes are sets of values by object identifier; one holds the requested extensions. */
function requestedExtension(attributes: DerElement | undefined, extensionOid: string): Buffer | undefined {
  if (attributes === undefined) return undefined;
  for (const attribute of children(attributes, 0xa0)) {
    const [type, values] = children(attribute);
    if (type?.tag !== tag.oid || oidText(type.contents) !== extensionRequestOid) continue;
    for (const extension of children(children(values, tag.set)[0])) {
      const parts = children(extension);
      const value = parts.at(-1);
      if (parts[0]?.tag !== tag.oid || value?.tag !== tag.octetString) throw new DerError('no extension');
      if (oidText(parts[0].contents) === extensionOid) return value.contents;
    }
  }
  return undefined;
}

function signatureHolds({ info, publicKey, algorithm, signature }: SignedRequest): boolean {
  const hash = hashes[algorithm];
  if (hash === undefined) {
    throw new CertificateRequestError(`unable to parse csr: unsupported signature algorithm ${algorithm}`);
  }
  try {
    return verify(hash, info, publicKey, signature);
  } catch {
    // The key does not fit the algorithm, so the signature is invalid.
    return false;
  }
}
