/** Issues tokens for TokenRequests (`serviceaccounts/token`), optionally bound to a pod or secret. */
import type { TokenRequest } from '#api/authentication/v1/types.gen.js';
import { pods, secrets } from '#api/core/v1/resources.gen.js';
import type { Pod, Secret, ServiceAccount } from '#api/core/v1/types.gen.js';
import { type Clock, formatTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest, conflict, type FieldFailure, invalid, notFound } from '#apimachinery/errors/status.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import { makeClaims } from '#apiserver/serviceaccount/claims.js';
import { type JwtSigningKey, signJwt } from '#pki/jwt.js';

export interface TokenIssuerOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly issuer: string;
  readonly key: JwtSigningKey;
  /** Audiences of this API server; the default of requests. */
  readonly audiences: readonly string[];
  readonly reader: ObjectReader;
  /** Longest lifetime; absent or 0: no limit. */
  readonly maxExpirationSeconds?: number;
  /** Pods' tokens last a year, with a warning after the requested time (`--service-account-extend-token-expiration`). */
  readonly extendExpiration: boolean;
}

/** The lifetime that projected volumes of pods request; other clients are unlikely to request the same. */
export const podTokenExpirationSeconds = 3607;
const extendedExpirationSeconds = 365 * 24 * 3600;
const minExpirationSeconds = 10 * 60;
const maxExpirationSeconds = 2 ** 32;
const defaultExpirationSeconds = 3600;

interface BoundObjects {
  readonly pod?: Pod;
  readonly secret?: Secret;
}

export class TokenIssuer {
  readonly #options: TokenIssuerOptions;

  constructor(options: TokenIssuerOptions) {
    this.#options = options;
  }

  /**
   * The request with its status. Throws 422 for an invalid spec, 400 for an object that cannot be bound, 404 or 409 when the
   * bound object does not exist or has another UID. Calls `warn` when the lifetime is shortened.
   */
  async request(
    serviceAccount: ServiceAccount,
    request: TokenRequest,
    warn: (text: string) => void = () => undefined,
  ): Promise<TokenRequest> {
    const { clock, audiences: ownAudiences } = this.#options;
    const name = serviceAccount.metadata.name ?? '';
    this.#validate(request);
    const boundObjects = await this.#boundObjects(serviceAccount, request);
    const seconds = this.#shortened(Number(request.spec.expirationSeconds ?? defaultExpirationSeconds), warn);
    const audiences = request.spec.audiences?.length ? request.spec.audiences : [...ownAudiences];
    const now = clock.now();
    const token = this.#sign({ serviceAccount, ...boundObjects }, { seconds, audiences, nowMs: now });
    return {
      ...request,
      metadata: {
        ...request.metadata,
        name,
        ...(serviceAccount.metadata.namespace === undefined ? {} : { namespace: serviceAccount.metadata.namespace }),
        creationTimestamp: formatTime(now),
      },
      spec: { ...request.spec, audiences, expirationSeconds: seconds },
      status: { token, expirationTimestamp: formatTime(now + seconds * 1000) },
    };
  }

  #sign(
    of: BoundObjects & { readonly serviceAccount: ServiceAccount },
    token: { readonly seconds: number; readonly audiences: readonly string[]; readonly nowMs: number },
  ): string {
    const { dialect, issuer, key, extendExpiration, audiences: own } = this.#options;
    const extend =
      extendExpiration &&
      of.pod !== undefined &&
      token.seconds === podTokenExpirationSeconds &&
      token.audiences.every((audience) => own.includes(audience));
    const claims = makeClaims(dialect, {
      issuer,
      audiences: token.audiences,
      serviceAccount: of.serviceAccount,
      pod: of.pod,
      secret: of.secret,
      nowSeconds: Math.floor(token.nowMs / 1000),
      expirationSeconds: extend ? extendedExpirationSeconds : token.seconds,
      warnAfterSeconds: extend ? token.seconds : undefined,
    });
    return signJwt(key, claims);
  }

  #shortened(seconds: number, warn: (text: string) => void): number {
    const { maxExpirationSeconds: max = 0 } = this.#options;
    if (max <= 0 || seconds <= max) return seconds;
    warn(`requested expiration of ${seconds} seconds shortened to ${max} seconds`);
    return max;
  }

  #validate(request: TokenRequest): void {
    const failures: FieldFailure[] = [];
    const refuse = (value: number | bigint, why: string) =>
      failures.push({
        field: 'spec.expirationSeconds',
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${value}: ${why}`,
      });
    const seconds = request.spec.expirationSeconds ?? defaultExpirationSeconds;
    if (seconds < minExpirationSeconds) refuse(seconds, 'may not specify a duration less than 10 minutes');
    if (seconds > maxExpirationSeconds) refuse(seconds, 'may not specify a duration larger than 2^32 seconds');
    const kind = { group: this.#options.dialect.groupName('authentication'), kind: 'TokenRequest' };
    if (failures.length > 0) throw invalid(kind, '', failures);
  }

  async #boundObjects(serviceAccount: ServiceAccount, request: TokenRequest): Promise<BoundObjects> {
    const { reader } = this.#options;
    const reference = request.spec.boundObjectRef;
    if (reference === undefined) return {};
    const { name: accountName = '', namespace = '' } = serviceAccount.metadata;
    const { apiVersion = '', kind = '', name = '', uid } = reference;
    if (kind === 'Pod' && apiVersion === 'v1') {
      const pod = await reader.get(pods, namespace, name, 'latest');
      if (pod === undefined) throw notFound({ group: '', resource: 'pods' }, name);
      checkUid('pods', pod.metadata.uid, uid, name);
      if (pod.spec.serviceAccountName !== accountName)
        throw badRequest(
          `cannot bind token for serviceaccount ${JSON.stringify(accountName)} to pod running with different serviceaccount ${JSON.stringify(pod.spec.serviceAccountName ?? '')}`,
        );
      return { pod };
    }
    if (kind === 'Secret' && apiVersion === 'v1') {
      const secret = await reader.get(secrets, namespace, name, 'latest');
      if (secret === undefined) throw notFound({ group: '', resource: 'secrets' }, name);
      checkUid('secrets', secret.metadata.uid, uid, name);
      return { secret };
    }
    throw badRequest(
      `cannot bind token to object of type ${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${kind}`,
    );
  }
}

function checkUid(resource: string, uid: string | undefined, requestedUid: string | undefined, name: string): void {
  if (requestedUid === undefined || requestedUid === '' || uid === requestedUid) return;
  const why = `the UID in the bound object reference (${requestedUid}) does not match the UID in record. The object might have been deleted and then recreated`;
  throw conflict({ group: '', resource }, name, why);
}
