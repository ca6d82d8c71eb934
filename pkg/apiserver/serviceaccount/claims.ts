/** The claims of service account tokens: encoded by the issuer, decoded by the authenticator. */
import type { Pod, Secret, ServiceAccount } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { JwtClaims } from '#pki/jwt.js';

export interface BoundName {
  readonly name: string;
  readonly uid: string;
}

/** Times are seconds since the epoch. */
export interface TokenClaims {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly issuedAtSeconds: number;
  readonly notBeforeSeconds: number;
  readonly expirySeconds: number;
  readonly namespace: string;
  readonly serviceAccount: BoundName;
  readonly pod?: BoundName;
  readonly secret?: BoundName;
  /** Uses after this time get a warning: the token should have been replaced. */
  readonly warnAfterSeconds?: number;
}

export interface ClaimsInput {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly serviceAccount: ServiceAccount;
  readonly pod?: Pod | undefined;
  readonly secret?: Secret | undefined;
  readonly nowSeconds: number;
  readonly expirationSeconds: number;
  readonly warnAfterSeconds?: number | undefined;
}

const userPrefix = 'system:serviceaccount:';

/** `system:serviceaccount:<namespace>:<name>`. */
export function serviceAccountUser(namespace: string, name: string): string {
  return `${userPrefix}${namespace}:${name}`;
}

export function makeClaims(dialect: Dialect, input: ClaimsInput): JwtClaims {
  const { serviceAccount, pod, secret, nowSeconds } = input;
  const { namespace = '', name = '' } = serviceAccount.metadata;
  const bound = (object: Pod | Secret | ServiceAccount) => ({
    name: object.metadata.name ?? '',
    uid: object.metadata.uid ?? '',
  });
  return {
    aud: input.audiences,
    exp: nowSeconds + input.expirationSeconds,
    iat: nowSeconds,
    iss: input.issuer,
    [dialect.tokenClaim]: {
      namespace,
      ...(pod === undefined ? {} : { pod: bound(pod) }),
      ...(secret === undefined ? {} : { secret: bound(secret) }),
      serviceaccount: bound(serviceAccount),
      ...(input.warnAfterSeconds === undefined ? {} : { warnafter: nowSeconds + input.warnAfterSeconds }),
    },
    nbf: nowSeconds,
    sub: serviceAccountUser(namespace, name),
  };
}

/** Decodes verified claims; undefined when a required claim is missing or has the wrong type. */
export function readClaims(dialect: Dialect, claims: JwtClaims): TokenClaims | undefined {
  const own = asRecord(claims[dialect.tokenClaim]);
  const serviceAccount = boundName(own?.['serviceaccount']);
  const namespace = own?.['namespace'];
  const { iss, exp, iat, nbf, sub } = claims;
  if (own === undefined || serviceAccount === undefined || typeof namespace !== 'string') return undefined;
  if (typeof iss !== 'string' || typeof exp !== 'number') return undefined;
  if (sub !== serviceAccountUser(namespace, serviceAccount.name)) return undefined;
  const pod = boundName(own['pod']);
  const secret = boundName(own['secret']);
  // A malformed binding must not count as no binding.
  if ((own['pod'] !== undefined && pod === undefined) || (own['secret'] !== undefined && secret === undefined))
    return undefined;
  const warnAfter = own['warnafter'];
  return {
    issuer: iss,
    audiences: audienceList(claims['aud']),
    issuedAtSeconds: typeof iat === 'number' ? iat : 0,
    notBeforeSeconds: typeof nbf === 'number' ? nbf : 0,
    expirySeconds: exp,
    namespace,
    serviceAccount,
    ...(pod === undefined ? {} : { pod }),
    ...(secret === undefined ? {} : { secret }),
    ...(typeof warnAfter === 'number' ? { warnAfterSeconds: warnAfter } : {}),
  };
}

function audienceList(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

function boundName(value: unknown): BoundName | undefined {
  const record = asRecord(value);
  const { name, uid } = record ?? {};
  return typeof name === 'string' && typeof uid === 'string' && name !== '' ? { name, uid } : undefined;
}
