/**
 * Answers TokenRequests (`serviceaccounts/token`): a signed token for the account, bound to a pod or secret when the
 * request says so.
 */
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
  /** Audiences of this API server: what a request without audiences gets. */
  readonly audiences: readonly string[];
  readonly reader: ObjectReader;
  /** Longest lifetime; absent or 0 = no limit. */
  readonly maxExpirationSeconds?: number;
  /** Gives pods' own tokens a year, with a warning after the time asked for (`--service-account-extend-token-expiration`). */
  readonly extendExpiration: boolean;
}

/** What the projected volumes of pods ask for: an hour and a little, which no one else does by chance. */
export const podTokenExpirationSeconds = 3607;
const extendedExpirationSeconds = 365 * 24 * 3600;
const minExpirationSeconds = 10 * 60;
const maxExpirationSeconds = 2 ** 32;
const defaultExpirationSeconds = 3600;

interface Bound {
  readonly pod?: Pod;
  readonly secret?: Secret;
}

export class TokenIssuer {
  readonly #options: TokenIssuerOptions;

  constructor(options: TokenIssuerOptions) {
    this.#options = options;
  }

  /**
   * The request with its status filled. Throws 422 for a bad spec, 400 for an object that cannot be bound, 404 and 409
   * when the bound object is gone or another one. `warn` is called when the lifetime had to be shortened.
   */
  async request(
    serviceAccount: ServiceAccount,
    request: TokenRequest,
    warn: (text: string) => void = () => undefined,
  ): Promise<TokenRequest> {
    const { clock, audiences: ownAudiences } = this.#options;
    const name = serviceAccount.metadata.name ?? '';
    this.#validate(request);
    const bound = await this.#bound(serviceAccount, request);
    const asked = this.#shortened(Number(request.spec.expirationSeconds ?? defaultExpirationSeconds), warn);
    const audiences = request.spec.audiences?.length ? request.spec.audiences : [...ownAudiences];
    const now = clock.now();
    const token = this.#sign({ serviceAccount, ...bound }, { asked, audiences, nowMs: now });
    return {
      ...request,
      metadata: {
        ...request.metadata,
        name,
        ...(serviceAccount.metadata.namespace === undefined ? {} : { namespace: serviceAccount.metadata.namespace }),
        creationTimestamp: formatTime(now),
      },
      spec: { ...request.spec, audiences, expirationSeconds: asked },
      status: { token, expirationTimestamp: formatTime(now + asked * 1000) },
    };
  }

  #sign(
    of: Bound & { readonly serviceAccount: ServiceAccount },
    token: { readonly asked: number; readonly audiences: readonly string[]; readonly nowMs: number },
  ): string {
    const { dialect, issuer, key, extendExpiration, audiences: own } = this.#options;
    const extend =
      extendExpiration &&
      of.pod !== undefined &&
      token.asked === podTokenExpirationSeconds &&
      token.audiences.every((audience) => own.includes(audience));
    const claims = makeClaims(dialect, {
      issuer,
      audiences: token.audiences,
      serviceAccount: of.serviceAccount,
      pod: of.pod,
      secret: of.secret,
      nowSeconds: Math.floor(token.nowMs / 1000),
      expirationSeconds: extend ? extendedExpirationSeconds : token.asked,
      warnAfterSeconds: extend ? token.asked : undefined,
    });
    return signJwt(key, claims);
  }

  #shortened(asked: number, warn: (text: string) => void): number {
    const { maxExpirationSeconds: max = 0 } = this.#options;
    if (max <= 0 || asked <= max) return asked;
    warn(`requested expiration of ${asked} seconds shortened to ${max} seconds`);
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

  async #bound(serviceAccount: ServiceAccount, request: TokenRequest): Promise<Bound> {
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

function checkUid(resource: string, found: string | undefined, wanted: string | undefined, name: string): void {
  if (wanted === undefined || wanted === '' || found === wanted) return;
  const why = `the UID in the bound object reference (${wanted}) does not match the UID in record. The object might have been deleted and then recreated`;
  throw conflict({ group: '', resource }, name, why);
}
