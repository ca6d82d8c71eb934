/** Which requests may be approved without a human: those of nodes for their own certificates. Pure. */
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { notForNodeClient } from '#controllers/certificates/node-requests.js';
import { isDecided, isIssued, readAsked } from '#controllers/certificates/requests.js';

/** A right that whoever asks must have, and what its approval says then. */
export interface Approval {
  /** Of certificatesigningrequests; the right is to create it. */
  readonly subresource: 'selfnodeclient' | 'nodeclient';
  readonly message: string;
}

/** What could approve the request, the closest first. Throws when the request cannot be read. */
export function possibleApprovals(dialect: Dialect, request: CertificateSigningRequest): Approval[] {
  const { spec } = request;
  if (isIssued(request) || isDecided(request)) return [];
  if (spec.signerName !== dialect.signers.apiServerClientNodeAgent) return [];
  const asked = readAsked(request);
  if (notForNodeClient(dialect, asked) !== undefined) return [];
  const { nodeAgent } = dialect.components;
  const any: Approval = {
    subresource: 'nodeclient',
    message: `Auto approving ${nodeAgent} client certificate after SubjectAccessReview.`,
  };
  if (spec.username !== asked.subject.commonName) return [any];
  const own: Approval = {
    subresource: 'selfnodeclient',
    message: `Auto approving self ${nodeAgent} client certificate after SubjectAccessReview.`,
  };
  return [own, any];
}
