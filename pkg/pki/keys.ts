/** Key pairs, their signatures as in certificates, and their pins. */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  sign,
  X509Certificate,
} from 'node:crypto';
import { promisify } from 'node:util';
import { nullValue, oid, sequence } from '#apimachinery/asn1/der.js';

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const generate = promisify(generateKeyPair);

/** A new ECDSA key on P-256: small, quick, and accepted by every TLS peer. */
export async function generateEcKey(): Promise<KeyPair> {
  return generate('ec', { namedCurve: 'P-256' });
}

/** A new 2048-bit RSA key. */
export async function generateRsaKey(): Promise<KeyPair> {
  return generate('rsa', { modulusLength: 2048 });
}

/** PKCS#8 PEM of a private key. */
export function privateKeyToPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** SubjectPublicKeyInfo PEM of a public key. */
export function publicKeyToPem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

/** The pair of a private key in PEM (PKCS#8, PKCS#1 or SEC 1). Throws node:crypto's error for any other text. */
export function keyPairFromPem(pem: string | Buffer): KeyPair {
  const privateKey = createPrivateKey(pem);
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

interface SignatureAlgorithm {
  readonly hash: 'sha256' | 'sha384' | 'sha512';
  readonly identifier: Buffer;
}

/** Signature algorithm of a key: SHA-256 with RSA, or ECDSA with the hash of the curve's size. Throws RangeError for others. */
function signatureAlgorithm(key: KeyObject): SignatureAlgorithm {
  if (key.asymmetricKeyType === 'rsa')
    return { hash: 'sha256', identifier: sequence(oid('1.2.840.113549.1.1.11'), nullValue()) };
  if (key.asymmetricKeyType === 'ec') {
    switch (key.asymmetricKeyDetails?.namedCurve) {
      case 'prime256v1':
        return { hash: 'sha256', identifier: sequence(oid('1.2.840.10045.4.3.2')) };
      case 'secp384r1':
        return { hash: 'sha384', identifier: sequence(oid('1.2.840.10045.4.3.3')) };
      case 'secp521r1':
        return { hash: 'sha512', identifier: sequence(oid('1.2.840.10045.4.3.4')) };
      default:
    }
  }
  throw new RangeError(`cannot sign with a key of type ${String(key.asymmetricKeyType)}: need RSA or ECDSA`);
}

/** Signs `data`; returns the algorithm's DER identifier too. */
export function signData(key: KeyObject, data: Buffer): { identifier: Buffer; signature: Buffer } {
  const { hash, identifier } = signatureAlgorithm(key);
  return { identifier, signature: sign(hash, data, key) };
}

/**
 * Pin of a certificate's public key: `sha256:` and the hash of its SubjectPublicKeyInfo in hexadecimal. It identifies an
 * authority that was received over an untrusted connection. Throws for a text that is no certificate.
 */
export function publicKeyPin(certificate: string | Buffer): string {
  const key = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}
