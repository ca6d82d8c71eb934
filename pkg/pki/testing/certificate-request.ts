/** Certificate requests for tests. */
import { implicit, readOne, sequence } from '#apimachinery/asn1/der.js';
import { encodeAddress } from '#pki/certificate.js';
import { encodeCertificateRequest } from '#pki/certificate-request.js';
import { type DistinguishedName, encodeName } from '#pki/distinguished-name.js';
import { generateEcKey, type KeyPair } from '#pki/keys.js';

export interface RequestOptions {
  readonly subject?: DistinguishedName;
  readonly dns?: readonly string[];
  readonly ips?: readonly string[];
  readonly emails?: readonly string[];
  readonly uris?: readonly string[];
  /** Further alternative names, in DER. */
  readonly others?: readonly Buffer[];
  /** Further attributes of the subject, in DER. */
  readonly attributes?: readonly Buffer[];
  /** Absent: a new key on P-256. */
  readonly keys?: KeyPair;
}

export interface CertificateRequest {
  /** Base64 of the PEM text, as in `spec.request`. */
  readonly request: string;
  readonly keys: KeyPair;
}

export async function certificateRequest(options: RequestOptions = {}): Promise<CertificateRequest> {
  const { subject = { commonName: 'a', organizations: [] }, dns = [], ips = [], emails = [], uris = [] } = options;
  const keys = options.keys ?? (await generateEcKey());
  const text = (kind: number) => (value: string) => implicit(kind, Buffer.from(value, 'latin1'));
  const pem = encodeCertificateRequest({
    subject: sequence(readOne(encodeName(subject)).contents, ...(options.attributes ?? [])),
    alternatives: [
      ...emails.map(text(1)),
      ...dns.map(text(2)),
      ...uris.map(text(6)),
      ...ips.map((ip) => implicit(7, encodeAddress(ip))),
      ...(options.others ?? []),
    ],
    keys,
  });
  return { request: Buffer.from(pem).toString('base64'), keys };
}
