/** Decides whether a signer accepts a request, and the certificate's validity and usages. Pure. */
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { notForNodeClient, notForNodeServing } from '#controllers/certificates/node-requests.js';
import {
  isApproved,
  isFailed,
  isIssued,
  type RequestedCertificate,
  readRequestedCertificate,
} from '#controllers/certificates/requests.js';
import { type KeyUsage, type Purpose, purposeOids } from '#pki/usages.js';

/** The manager's signers, as named in the dialect. */
export type Signer = keyof Dialect['signers'];

export type SigningPlan =
  | { readonly kind: 'ignore' }
  /** The signer rejects the request. */
  | { readonly kind: 'fail'; readonly message: string }
  | { readonly kind: 'sign'; readonly signer: Signer };

const ignore: SigningPlan = { kind: 'ignore' };

/** Throws for a malformed request. */
export function planSigning(dialect: Dialect, request: CertificateSigningRequest): SigningPlan {
  if (isIssued(request) || !isApproved(request) || isFailed(request)) return ignore;
  const signer = signerOf(dialect, request);
  if (signer === undefined) return ignore;
  const message = refusals[signer](dialect, readRequestedCertificate(request));
  return message === undefined ? { kind: 'sign', signer } : { kind: 'fail', message };
}

/** Undefined for other signers. */
function signerOf({ signers }: Dialect, { spec }: CertificateSigningRequest): Signer | undefined {
  return (Object.keys(signers) as Signer[]).find((signer) => signers[signer] === spec.signerName);
}

/** Why a signer rejects a request; undefined when it accepts. */
const refusals: Readonly<Record<Signer, (dialect: Dialect, requested: RequestedCertificate) => string | undefined>> = {
  apiServerClient: (_dialect, { usages }) => notForClient(usages),
  apiServerClientNodeAgent: notForNodeClient,
  nodeAgentServing: notForNodeServing,
  // The approver is responsible for the content.
  legacyUnknown: () => undefined,
};

function notForClient(usages: readonly string[]): string | undefined {
  const allowed = ['client auth', 'digital signature', 'key encipherment'];
  const other = usages.find((usage) => !allowed.includes(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth';
}

/** Milliseconds since the epoch. */
export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

const minuteMs = 60_000;
/** Backdates certificates for clients whose clock is behind. */
const backdateMs = 5 * minuteMs;
const shortestMs = 2 * backdateMs;
/** Backdating does not reduce the remaining time of certificates with a shorter lifetime than this. */
const shortMs = 480 * minuteMs;

/** The requested validity, limited by `maxMs` and the signer's certificate. Throws if that certificate has expired. */
export function validityOf(
  { spec }: CertificateSigningRequest,
  { maxMs, signerNotAfter, now }: { readonly maxMs: number; readonly signerNotAfter: number; readonly now: number },
): Validity {
  const lifetimeMs = lifetimeOf(spec.expirationSeconds, maxMs);
  const notBefore = now - backdateMs;
  const over = new Date(signerNotAfter).toISOString();
  if (notBefore >= signerNotAfter) throw new Error(`the signer has expired: NotAfter=${over}`);
  if (now >= signerNotAfter) {
    throw new Error(`refusing to sign a certificate that expired in the past: NotAfter=${over}`);
  }
  const notAfter = lifetimeMs < shortMs ? now + lifetimeMs : notBefore + lifetimeMs;
  return { notBefore, notAfter: Math.min(notAfter, signerNotAfter) };
}

function lifetimeOf(requestedSeconds: number | undefined, maxMs: number): number {
  if (requestedSeconds === undefined || requestedSeconds * 1000 > maxMs) return maxMs;
  return Math.max(requestedSeconds * 1000, shortestMs);
}

const keyUsages: Readonly<Record<string, KeyUsage>> = {
  signing: 'digitalSignature',
  'digital signature': 'digitalSignature',
  'content commitment': 'contentCommitment',
  'key encipherment': 'keyEncipherment',
  'key agreement': 'keyAgreement',
  'data encipherment': 'dataEncipherment',
  'cert sign': 'certSign',
  'crl sign': 'crlSign',
  'encipher only': 'encipherOnly',
  'decipher only': 'decipherOnly',
};

const purposes: Readonly<Record<string, Purpose>> = {
  any: 'any',
  'server auth': 'server',
  'client auth': 'client',
  'code signing': 'codeSigning',
  'email protection': 'emailProtection',
  's/mime': 'emailProtection',
  'ipsec end system': 'ipsecEndSystem',
  'ipsec tunnel': 'ipsecTunnel',
  'ipsec user': 'ipsecUser',
  timestamping: 'timestamping',
  'ocsp signing': 'ocspSigning',
  'microsoft sgc': 'microsoftSGC',
  'netscape sgc': 'netscapeSGC',
};

export interface CertificateUsages {
  readonly keyUsages: readonly KeyUsage[];
  readonly purposes: readonly Purpose[];
}

/** Converts the request's usages to certificate extensions. Throws for an unknown usage. */
export function usagesOf({ spec }: CertificateSigningRequest): CertificateUsages {
  const usages = spec.usages ?? [];
  const requested = new Set(usages.map((usage) => purposes[usage]));
  const unknown = usages.filter((usage) => keyUsages[usage] === undefined && purposes[usage] === undefined);
  if (unknown.length > 0) {
    throw new Error(`unrecognized usage values: [${unknown.map((usage) => JSON.stringify(usage)).join(' ')}]`);
  }
  return {
    keyUsages: [...new Set(usages.map((usage) => keyUsages[usage]).filter((usage) => usage !== undefined))],
    purposes: (Object.keys(purposeOids) as Purpose[]).filter((purpose) => requested.has(purpose)),
  };
}
