/** What a signer does with a request: which it refuses, for how long it signs, and for which uses. Pure. */
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { notForNodeClient, notForNodeServing } from '#controllers/certificates/node-requests.js';
import { type Asked, isApproved, isFailed, isIssued, readAsked } from '#controllers/certificates/requests.js';
import { type KeyUsage, type Purpose, purposeOids } from '#pki/usages.js';

/** The signers that the manager can be, by their place in the dialect's table. */
export type Signer = keyof Dialect['signers'];

export type SigningPlan =
  | { readonly kind: 'ignore' }
  /** Nobody will sign it; `message` says why. */
  | { readonly kind: 'fail'; readonly message: string }
  | { readonly kind: 'sign'; readonly signer: Signer };

const ignore: SigningPlan = { kind: 'ignore' };

/** Throws when the request cannot be read. */
export function planSigning(dialect: Dialect, request: CertificateSigningRequest): SigningPlan {
  if (isIssued(request) || !isApproved(request) || isFailed(request)) return ignore;
  const signer = signerOf(dialect, request);
  if (signer === undefined) return ignore;
  const message = refusals[signer](dialect, readAsked(request));
  return message === undefined ? { kind: 'sign', signer } : { kind: 'fail', message };
}

/** Undefined for a signer that is not the manager's business. */
function signerOf({ signers }: Dialect, { spec }: CertificateSigningRequest): Signer | undefined {
  return (Object.keys(signers) as Signer[]).find((signer) => signers[signer] === spec.signerName);
}

/** Why a signer signs no such request. */
const refusals: Readonly<Record<Signer, (dialect: Dialect, asked: Asked) => string | undefined>> = {
  apiServerClient: (_dialect, { usages }) => notForClient(usages),
  apiServerClientNodeAgent: notForNodeClient,
  nodeAgentServing: notForNodeServing,
  // Whoever approved it knows what for.
  legacyUnknown: () => undefined,
};

function notForClient(usages: readonly string[]): string | undefined {
  const allowed = ['client auth', 'digital signature', 'key encipherment'];
  const other = usages.find((usage) => !allowed.includes(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth';
}

/** Instants in milliseconds since the epoch. */
export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

const minuteMs = 60_000;
/** Clocks that are behind accept a new certificate. */
const backdateMs = 5 * minuteMs;
const shortestMs = 2 * backdateMs;
/** Below this the five minutes would be missed at the end. */
const shortMs = 480 * minuteMs;

/**
 * How long a certificate is valid: as long as asked for, at most `maxMs`, at most as long as its signer. Throws when the
 * signer's own certificate is over.
 */
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

function lifetimeOf(askedSeconds: number | undefined, maxMs: number): number {
  if (askedSeconds === undefined || askedSeconds * 1000 > maxMs) return maxMs;
  return Math.max(askedSeconds * 1000, shortestMs);
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

/** What the words of requests mean in certificates. Throws for a word that has no meaning. */
export function usagesOf({ spec }: CertificateSigningRequest): CertificateUsages {
  const usages = spec.usages ?? [];
  const known = new Set(usages.map((usage) => purposes[usage]));
  const unknown = usages.filter((usage) => keyUsages[usage] === undefined && purposes[usage] === undefined);
  if (unknown.length > 0) {
    throw new Error(`unrecognized usage values: [${unknown.map((usage) => JSON.stringify(usage)).join(' ')}]`);
  }
  return {
    keyUsages: [...new Set(usages.map((usage) => keyUsages[usage]).filter((usage) => usage !== undefined))],
    purposes: (Object.keys(purposeOids) as Purpose[]).filter((purpose) => known.has(purpose)),
  };
}
