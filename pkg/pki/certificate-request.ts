/** Creates certificate requests (PKCS#10, RFC 2986). */
import { bitString, explicit, octetString, oid, sequence, set, unsignedInteger } from '#apimachinery/asn1/der.js';
import { encodePem } from '#apimachinery/asn1/pem.js';
import { type KeyPair, signData } from '#pki/keys.js';
import { extensionOid } from '#pki/x509.js';

export interface CertificateRequestParts {
  /** DER of the name. */
  readonly subject: Buffer;
  /** DER of the alternative names, each in its context tag. */
  readonly alternatives: readonly Buffer[];
  readonly keys: KeyPair;
}

const extensionRequestOid = '1.2.840.113549.1.9.14';

/** The request in PEM. Throws RangeError for a key that cannot sign. */
export function encodeCertificateRequest({ subject, alternatives, keys }: CertificateRequestParts): string {
  const extension = sequence(oid(extensionOid.alternativeNames), octetString(sequence(...alternatives)));
  const attribute = sequence(oid(extensionRequestOid), set(sequence(extension)));
  const info = sequence(
    unsignedInteger(Buffer.from([0])),
    subject,
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    explicit(0, ...(alternatives.length === 0 ? [] : [attribute])),
  );
  const { identifier, signature } = signData(keys.privateKey, info);
  return encodePem('CERTIFICATE REQUEST', sequence(info, identifier, bitString(signature)));
}
