/** Pins of public keys: by which an authority is recognized whose certificate comes over a way that is not trusted. */
import { createHash, X509Certificate } from 'node:crypto';

/** `sha256:` and the hash of the public key (SubjectPublicKeyInfo) of a certificate, in hexadecimal. Throws for what is none. */
export function publicKeyPin(certificate: string | Buffer): string {
  const key = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}
