/** Checks certificate requests of PKCS#10 (RFC 2986): their form, and that who asks has the private key. */

import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { children, DerError, oidText, readOne, tag } from '#apimachinery/asn1/der.js';
import { decodePem } from '#apimachinery/asn1/pem.js';
import { messageOf } from '#apimachinery/errors/message.js';

/** Not a certificate request, or not one that its key has signed. */
export class CertificateRequestError extends Error {
  override readonly name = 'CertificateRequestError';
}

/** Hashes of the signature algorithms in use; null where the algorithm has its own. */
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

/** `request` is the base64 of a PEM text. Throws `CertificateRequestError`. */
export function checkCertificateRequest(request: string): void {
  const [block] = decodePem(Buffer.from(request, 'base64').toString('latin1'));
  if (block?.label !== 'CERTIFICATE REQUEST') {
    throw new CertificateRequestError('PEM block type must be CERTIFICATE REQUEST');
  }
  const signed = parse(block.der);
  if (!signatureHolds(signed)) throw new CertificateRequestError('the signature is not that of the requested key');
}

interface SignedRequest {
  /** What is signed. */
  readonly info: Buffer;
  readonly key: KeyObject;
  readonly algorithm: string;
  readonly signature: Buffer;
}

function parse(der: Buffer): SignedRequest {
  try {
    const [info, algorithm, signature] = children(readOne(der));
    const [version, subject, publicKey] = children(info);
    if (version?.tag !== tag.integer || version.contents.length !== 1 || version.contents[0] !== 0) {
      throw new DerError('unsupported version');
    }
    // Names are sequences of sets; their texts are for whoever needs them.
    for (const part of children(subject)) children(part, tag.set);
    const [id] = children(algorithm);
    if (info === undefined || publicKey === undefined || id?.tag !== tag.oid || signature?.tag !== tag.bitString) {
      throw new DerError('element is missing');
    }
    return {
      info: info.bytes,
      key: createPublicKey({ key: publicKey.bytes, format: 'der', type: 'spki' }),
      algorithm: oidText(id.contents),
      // The first byte counts unused bits, of which signatures have none.
      signature: signature.contents.subarray(1),
    };
  } catch (error) {
    const why = messageOf(error);
    throw new CertificateRequestError(`unable to parse csr: ${why}`, { cause: error });
  }
}

function signatureHolds({ info, key, algorithm, signature }: SignedRequest): boolean {
  const hash = hashes[algorithm];
  if (hash === undefined) {
    throw new CertificateRequestError(`unable to parse csr: unsupported signature algorithm ${algorithm}`);
  }
  try {
    return verify(hash, info, key, signature);
  } catch {
    // A key of another sort than the algorithm's: no signature of that key.
    return false;
  }
}
