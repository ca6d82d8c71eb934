/** Which requests may be approved without a human: those of nodes for their own certificates. Pure. */
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { canonicalAddress, formatAddress } from '#apimachinery/net/ip.js';
import { notForNodeClient, notForNodeServing } from '#controllers/certificates/node-requests.js';
import { isDecided, isIssued, readAsked } from '#controllers/certificates/requests.js';

/** A right that whoever asks must have, and what its approval says then. */
export interface Approval {
  /** Of certificatesigningrequests; the right is to create it. */
  readonly subresource: 'selfnodeclient' | 'nodeclient' | 'selfnodeserving';
  readonly message: string;
}

/** What could approve the request, the closest first. Throws when the request cannot be read. */
export function possibleApprovals(dialect: Dialect, request: CertificateSigningRequest): Approval[] {
  const { spec } = request;
  if (isIssued(request) || isDecided(request)) return [];
  if (spec.signerName === dialect.signers.nodeAgentServing) return servingApprovals(dialect, request);
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

/**
 * Release 1.24 leaves serving certificates to somebody else: nobody has this right there, nor here until it is given.
 * Only what the node asks for itself may be approved by it.
 */
function servingApprovals(dialect: Dialect, request: CertificateSigningRequest): Approval[] {
  const asked = readAsked(request);
  if (notForNodeServing(dialect, asked) !== undefined) return [];
  if (request.spec.username !== asked.subject.commonName) return [];
  const { nodeAgent } = dialect.components;
  const message = `Auto approving self ${nodeAgent} serving certificate after SubjectAccessReview.`;
  return [{ subresource: 'selfnodeserving', message }];
}

/**
 * Why a node may not serve under the names that it asks for: they must be its own name and its addresses, and no other
 * node's. Undefined when it may. Throws when the request cannot be read.
 */
export function servingNamesProblem(
  dialect: Dialect,
  request: CertificateSigningRequest,
  nodes: readonly Node[],
): string | undefined {
  const { names, subject } = readAsked(request);
  const nodeName = subject.commonName.slice(dialect.users.nodePrefix.length);
  const node = nodes.find(({ metadata }) => metadata.name === nodeName);
  if (node === undefined) return `there is no node ${nodeName}`;
  const own = addressesOf(node);
  const dns = names.dns.find((name) => name !== nodeName && !own.has(name));
  if (dns !== undefined) return `${dns} is no name of the node`;
  const ips = names.ips.map(formatAddress);
  const strange = ips.find((ip) => !own.has(ip));
  if (strange !== undefined) return `${strange} is no address of the node`;
  for (const other of nodes) {
    if (other === node) continue;
    const theirs = addressesOf(other);
    const shared = [...ips, ...names.dns].find((name) => theirs.has(name) || name === other.metadata.name);
    if (shared !== undefined) return `${shared} is an address of the node ${other.metadata.name}, too`;
  }
  return undefined;
}

function addressesOf({ status }: Node): Set<string> {
  return new Set((status?.addresses ?? []).map(({ address }) => canonicalAddress(address) ?? address));
}
