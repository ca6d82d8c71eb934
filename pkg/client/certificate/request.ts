/** Requests a certificate from the API and waits until it is approved and signed. */
import { X509Certificate } from 'node:crypto';
import { certificatesigningrequests } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { readCertificateRequest } from '#apimachinery/asn1/pkcs10.js';
import type { Clock } from '#apimachinery/clock.js';
import { isAlreadyExists } from '#apimachinery/errors/status.js';
import { type CertificateTemplate, requestName } from '#client/certificate/key-certificate.js';
import type { Client } from '#client/client.js';
import { serverNames } from '#pki/certificate.js';
import { encodeCertificateRequest } from '#pki/certificate-request.js';
import { encodeName } from '#pki/distinguished-name.js';
import type { KeyPair } from '#pki/keys.js';

/** The request will never be signed; another key must be used. */
export class RequestRefusedError extends Error {
  override readonly name = 'RequestRefusedError';
}

export interface CertificateRequest {
  readonly keys: KeyPair;
  readonly template: CertificateTemplate;
  readonly signerName: string;
  readonly usages: readonly string[];
}

/** Pause before restarting a watch that ended. */
const rewatchMs = 1_000;

/**
 * Returns the certificate in PEM. Reuses an existing request for the same key and names. Rejects with RequestRefusedError
 * if the request is denied or unusable, otherwise with the failure; `signal` ends the wait.
 */
export async function requestCertificate(
  client: Client,
  wantedCertificate: CertificateRequest,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<string> {
  const requests = client.resource(certificatesigningrequests);
  let request = await existingOrNew(client, wantedCertificate, signal);
  for (;;) {
    const issued = issuedBy(request);
    if (issued !== undefined) return checkUnexpired(issued, clock.now());
    const { name = '', uid } = request.metadata;
    const fieldSelector = `metadata.name=${name}`;
    const { resourceVersion = '' } = request.metadata;
    for await (const { type, object } of requests.watch({ fieldSelector, resourceVersion, signal })) {
      if (type === 'BOOKMARK') continue;
      if (type === 'DELETED') throw new Error(`the certificate signing request ${name} was deleted`);
      request = object;
      if (issuedBy(request) !== undefined) break;
    }
    signal.throwIfAborted();
    if (issuedBy(request) !== undefined) continue;
    await clock.sleep(rewatchMs, signal);
    request = await requests.get(name, { signal });
    if (request.metadata.uid !== uid) throw new Error(`the certificate signing request ${name} was replaced`);
  }
}

async function existingOrNew(
  client: Client,
  { keys, template, signerName, usages }: CertificateRequest,
  signal: AbortSignal,
): Promise<CertificateSigningRequest> {
  const requests = client.resource(certificatesigningrequests);
  const pem = encodeCertificateRequest({
    subject: encodeName(template.subject),
    alternatives: serverNames(template),
    keys,
  });
  const name = requestName(keys.publicKey, template, usages);
  const spec = { request: Buffer.from(pem).toString('base64'), signerName, usages: [...usages] };
  try {
    return await requests.create({ metadata: { name }, spec }, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const existing = await requests.get(name, { signal });
  const problem = incompatibility(existing, { keys, signerName });
  if (problem !== undefined) throw new RequestRefusedError(`retrieved csr ${name} is not compatible: ${problem}`);
  return existing;
}

/** Checks an existing request, since its name may be used by another client. */
function incompatibility(
  { spec }: CertificateSigningRequest,
  { keys, signerName }: Pick<CertificateRequest, 'keys' | 'signerName'>,
): string | undefined {
  if (spec.signerName !== signerName) return `csr signerNames differ: new ${signerName}, old: ${spec.signerName}`;
  const der = (key: KeyPair['publicKey']) => key.export({ type: 'spki', format: 'der' });
  const same = der(readCertificateRequest(spec.request).publicKey).equals(der(keys.publicKey));
  return same ? undefined : 'it uses another key';
}

/** The certificate; undefined while the request is pending. Throws RequestRefusedError. */
function issuedBy({ status }: CertificateSigningRequest): string | undefined {
  for (const { type, status: conditionStatus, reason = '', message = '' } of status?.conditions ?? []) {
    if (conditionStatus !== 'True' && conditionStatus !== '') continue;
    const why = `reason: ${JSON.stringify(reason)}, message: ${JSON.stringify(message)}`;
    if (type === 'Denied') throw new RequestRefusedError(`certificate signing request is denied, ${why}`);
    if (type === 'Failed') throw new RequestRefusedError(`certificate signing request failed, ${why}`);
  }
  const { certificate = '', conditions = [] } = status ?? {};
  if (certificate === '' || !conditions.some(({ type }) => type === 'Approved')) return undefined;
  return Buffer.from(certificate, 'base64').toString('latin1');
}

/** Rejects an expired certificate of an old request. Throws RequestRefusedError. */
function checkUnexpired(pem: string, nowMs: number): string {
  let ends: number;
  try {
    ends = Date.parse(new X509Certificate(pem).validTo);
  } catch (error) {
    throw new RequestRefusedError('the signer issued no valid certificate', { cause: error });
  }
  if (ends <= nowMs) throw new RequestRefusedError('one of the certificates in existing csr is expired');
  return pem;
}
