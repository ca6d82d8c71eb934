/** Asks the API for a certificate, and waits until it is approved and signed. */
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

/** Nobody will ever sign the request: another key has to be asked for. */
export class RequestRefusedError extends Error {
  override readonly name = 'RequestRefusedError';
}

export interface CertificateWanted {
  readonly keys: KeyPair;
  readonly template: CertificateTemplate;
  readonly signerName: string;
  readonly usages: readonly string[];
}

/** Pause before a watch that ended is begun again. */
const rewatchMs = 1_000;

/**
 * The certificate in PEM. A request of the same key for the same names that is there already is waited for instead of a
 * new one. Rejects with RequestRefusedError for a request that cannot be had any more, else with what failed; `signal`
 * ends the waiting.
 */
export async function requestCertificate(
  client: Client,
  wanted: CertificateWanted,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<string> {
  const requests = client.resource(certificatesigningrequests);
  let request = await existingOrNew(client, wanted, signal);
  for (;;) {
    const issued = issuedBy(request);
    if (issued !== undefined) return usable(issued, clock.now());
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
  { keys, template, signerName, usages }: CertificateWanted,
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
  const found = await requests.get(name, { signal });
  const problem = unlike(found, { keys, signerName });
  if (problem !== undefined) throw new RequestRefusedError(`retrieved csr ${name} is not compatible: ${problem}`);
  return found;
}

/** Names are easily taken by others. */
function unlike(
  { spec }: CertificateSigningRequest,
  { keys, signerName }: Pick<CertificateWanted, 'keys' | 'signerName'>,
): string | undefined {
  if (spec.signerName !== signerName) return `csr signerNames differ: new ${signerName}, old: ${spec.signerName}`;
  const der = (key: KeyPair['publicKey']) => key.export({ type: 'spki', format: 'der' });
  const same = der(readCertificateRequest(spec.request).publicKey).equals(der(keys.publicKey));
  return same ? undefined : 'it is for another key';
}

/** The certificate; undefined while nothing is decided. Throws RequestRefusedError. */
function issuedBy({ status }: CertificateSigningRequest): string | undefined {
  for (const { type, status: holds, reason = '', message = '' } of status?.conditions ?? []) {
    if (holds !== 'True' && holds !== '') continue;
    const why = `reason: ${JSON.stringify(reason)}, message: ${JSON.stringify(message)}`;
    if (type === 'Denied') throw new RequestRefusedError(`certificate signing request is denied, ${why}`);
    if (type === 'Failed') throw new RequestRefusedError(`certificate signing request failed, ${why}`);
  }
  const { certificate = '', conditions = [] } = status ?? {};
  if (certificate === '' || !conditions.some(({ type }) => type === 'Approved')) return undefined;
  return Buffer.from(certificate, 'base64').toString('latin1');
}

/** A request of long ago may have been found. Throws RequestRefusedError. */
function usable(pem: string, nowMs: number): string {
  let ends: number;
  try {
    ends = Date.parse(new X509Certificate(pem).validTo);
  } catch (error) {
    throw new RequestRefusedError('the signer gave no certificate', { cause: error });
  }
  if (ends <= nowMs) throw new RequestRefusedError('one of the certificates in existing csr is expired');
  return pem;
}
