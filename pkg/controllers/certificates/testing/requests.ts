/** Certificate signing requests for tests. */

import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
  CertificateSigningRequestSpec,
} from '#api/certificates/v1/types.gen.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import { certificateRequest, type RequestOptions } from '#pki/testing/certificate-request.js';

export const nodeSubject = { commonName: 'system:node:n1', organizations: ['system:nodes'] };
export const nodeClientUsages = ['digital signature', 'key encipherment', 'client auth'];
export const nodeServingUsages = ['digital signature', 'key encipherment', 'server auth'];

export interface SigningRequestOptions extends RequestOptions {
  readonly spec?: Partial<CertificateSigningRequestSpec>;
  readonly conditions?: readonly CertificateSigningRequestCondition[];
  /** PEM. */
  readonly certificate?: string;
}

export async function signingRequest(
  name: string,
  signerName: string,
  { spec, conditions, certificate, ...options }: SigningRequestOptions = {},
): Promise<Draft<CertificateSigningRequest>> {
  const { request } = await certificateRequest(options);
  return {
    metadata: { name },
    spec: { request, signerName, usages: ['client auth'], ...copyJson(spec ?? {}) },
    status: {
      ...(conditions === undefined ? {} : { conditions: [...conditions] }),
      ...(certificate === undefined ? {} : { certificate: Buffer.from(certificate).toString('base64') }),
    },
  };
}

export const condition = (type: string, more: Partial<CertificateSigningRequestCondition> = {}) => ({
  type,
  status: 'True',
  ...more,
});
