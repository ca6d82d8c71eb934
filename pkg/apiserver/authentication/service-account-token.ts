/** Authenticates service account tokens: checks the signature, and that the objects bound to the token still exist. */
import { pods, secrets, serviceaccounts } from '#api/core/v1/resources.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { type Clock, parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { unauthorized } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ReviewedToken, TokenAuthenticator } from '#apiserver/authentication/authenticator.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import { type BoundName, readClaims, serviceAccountUser, type TokenClaims } from '#apiserver/serviceaccount/claims.js';
import { type JwtKey, readJwt, verifyJwt } from '#pki/jwt.js';

export interface ServiceAccountTokenOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly keys: readonly JwtKey[];
  /** Tokens of other issuers are left to other authenticators. */
  readonly issuers: readonly string[];
  /** A token must have one of these audiences. */
  readonly audiences: readonly string[];
  readonly reader: ObjectReader;
  /** Whether the bound objects are looked up (`--service-account-lookup`). */
  readonly lookup: boolean;
}

/** Clocks may differ by this much; objects count as deleted this long after their deletion time. */
const leewayMs = 60_000;

export class ServiceAccountTokenAuthenticator implements TokenAuthenticator {
  readonly #options: ServiceAccountTokenOptions;

  constructor(options: ServiceAccountTokenOptions) {
    this.#options = options;
  }

  async authenticateToken(token: string, audiences = this.#options.audiences): Promise<UserInfo | undefined> {
    return (await this.reviewToken(token, audiences))?.user;
  }

  async reviewToken(token: string, audiences = this.#options.audiences): Promise<ReviewedToken | undefined> {
    const { dialect, keys, issuers, lookup } = this.#options;
    const issuer = readJwt(token)?.claims['iss'];
    if (typeof issuer !== 'string' || !issuers.includes(issuer)) return undefined;
    const verified = verifyJwt(keys, token);
    const claims = verified === undefined ? undefined : readClaims(dialect, verified);
    if (
      claims === undefined ||
      !this.#isCurrent(claims) ||
      !claims.audiences.some((audience) => audiences.includes(audience))
    )
      throw unauthorized();
    if (lookup) await this.#checkObjects(claims);
    return { user: userOf(dialect, claims), audiences: claims.audiences };
  }

  #isCurrent(claims: TokenClaims): boolean {
    const now = this.#options.clock.now();
    return now < claims.expirySeconds * 1000 + leewayMs && now > claims.notBeforeSeconds * 1000 - leewayMs;
  }

  async #checkObjects(claims: TokenClaims): Promise<void> {
    await Promise.all([
      this.#checkObject(serviceaccounts, claims.namespace, claims.serviceAccount),
      claims.pod === undefined ? undefined : this.#checkObject(pods, claims.namespace, claims.pod),
      claims.secret === undefined ? undefined : this.#checkObject(secrets, claims.namespace, claims.secret),
    ]);
  }

  /** Throws 401 unless the object exists with this UID and has not been deleted for longer than the leeway. */
  async #checkObject<T extends ApiObjectShape>(
    type: ResourceType<T>,
    namespace: string,
    bound: BoundName,
  ): Promise<void> {
    const { reader, clock } = this.#options;
    let object = await reader.get(type, namespace, bound.name);
    // This server's cache may lag behind the server that issued the token.
    if (object?.metadata.uid !== bound.uid) object = await reader.get(type, namespace, bound.name, 'latest');
    if (object === undefined || object.metadata.uid !== bound.uid) throw unauthorized();
    const deleted = object.metadata.deletionTimestamp;
    if (deleted !== undefined && parseTime(deleted) < clock.now() - leewayMs) throw unauthorized();
  }
}

function userOf(dialect: Dialect, claims: TokenClaims): UserInfo {
  const { namespace, serviceAccount, pod } = claims;
  const { serviceAccounts } = dialect.groups;
  const user = {
    name: serviceAccountUser(namespace, serviceAccount.name),
    uid: serviceAccount.uid,
    groups: [serviceAccounts, `${serviceAccounts}:${namespace}`],
    method: 'service-account-token',
  };
  if (pod === undefined) return user;
  return { ...user, extra: { [dialect.tokenExtras.podName]: [pod.name], [dialect.tokenExtras.podUID]: [pod.uid] } };
}
