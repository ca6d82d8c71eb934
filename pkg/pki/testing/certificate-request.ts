/** Certificate requests as clients make them, for tests. */
import { sign } from 'node:crypto';
import {
  bitString,
  explicit,
  implicit,
  octetString,
  oid,
  readOne,
  sequence,
  set,
  unsignedInteger,
} from '#apimachinery/asn1/der.js';
import { encodePem } from '#apimachinery/asn1/pem.js';
import { encodeAddress } from '#pki/certificate.js';
import { type DistinguishedName, encodeName } from '#pki/distinguished-name.js';
import { generateEcKey, type KeyPair } from '#pki/keys.js';

export interface RequestOptions {
  readonly subject?: DistinguishedName;
  readonly dns?: readonly string[];
  readonly ips?: readonly string[];
  readonly emails?: readonly string[];
  readonly uris?: readonly string[];
  /** More alternative names, in DER. */
  readonly others?: readonly Buffer[];
  /** More of the subject's attributes, in DER. */
  readonly attributes?: readonly Buffer[];
  /** Absent: a new key on P-256. */
  readonly keys?: KeyPair;
}

export interface MadeRequest {
  /** Base64 of the PEM text, as in `spec.request`. */
  readonly request: string;
  readonly keys: KeyPair;
}

export async function certificateRequest(options: RequestOptions = {}): Promise<MadeRequest> {
  const { subject = { commonName: 'a', organizations: [] }, dns = [], ips = [], emails = [], uris = [] } = options;
  const keys = options.keys ?? (await generateEcKey());
  const text = (kind: number) => (value: string) => implicit(kind, Buffer.from(value, 'latin1'));
  const names = [
    ...emails.map(text(1)),
    ...dns.map(text(2)),
    ...uris.map(text(6)),
    ...ips.map((ip) => implicit(7, encodeAddress(ip))),
    ...(options.others ?? []),
  ];
  const extension = sequence(oid('2.5.29.17'), octetString(sequence(...names)));
  const attribute = sequence(oid('1.2.840.113549.1.9.14'), set(sequence(extension)));
  const info = sequence(
    unsignedInteger(Buffer.from([0])),
    sequence(readOne(encodeName(subject)).contents, ...(options.attributes ?? [])),
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    explicit(0, ...(names.length === 0 ? [] : [attribute])),
  );
  const signature = sign('sha256', info, keys.privateKey);
  const algorithm = keys.privateKey.asymmetricKeyType === 'rsa' ? '1.2.840.113549.1.1.11' : '1.2.840.10045.4.3.2';
  const der = sequence(info, sequence(oid(algorithm)), bitString(signature));
  return { request: Buffer.from(encodePem('CERTIFICATE REQUEST', der)).toString('base64'), keys };
}
