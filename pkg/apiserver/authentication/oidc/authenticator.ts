/**
 * Authenticates ID tokens of an OpenID Connect provider, with the rules of release 1.24
 * (staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go).
 */
import type { JWTPayload } from 'jose';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { unauthorized } from '#apimachinery/errors/status.js';
import type { TokenAuthenticator } from '#apiserver/authentication/authenticator.js';
import { OidcProvider } from '#apiserver/authentication/oidc/provider.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { Logger } from '#daemon/log/logger.js';
import { readJwt } from '#pki/jwt.js';

export interface OidcOptions {
  /** Tokens of other issuers are left to other authenticators. */
  readonly issuer: string;
  /** The provider's current CA bundle (PEM); absent: the machine's authorities. */
  readonly ca: (() => Promise<string>) | undefined;
  /** Tokens must have this audience. */
  readonly clientId: string;
  readonly algorithms: readonly string[];
  readonly usernameClaim: string;
  /** Prefix of user names; `-`: none. Empty: `<issuer>#`, but no prefix for mail addresses. */
  readonly usernamePrefix: string;
  /** Claim with the user's groups; empty: users have no groups. */
  readonly groupsClaim: string;
  readonly groupsPrefix: string;
  readonly requiredClaims: Readonly<Record<string, string>>;
  /** Audiences of this API server; reviews for other audiences get no user. */
  readonly audiences: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
}

/** Tolerated clock difference for `nbf`. */
const notBeforeLeewaySeconds = 60;

export class OidcAuthenticator implements TokenAuthenticator {
  readonly #options: OidcOptions;
  readonly #provider: OidcProvider;

  constructor(options: OidcOptions) {
    this.#options = options;
    this.#provider = new OidcProvider(options);
  }

  async authenticateToken(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined> {
    const { issuer, audiences: own, log } = this.#options;
    if (readJwt(token)?.claims['iss'] !== issuer) return undefined;
    if (audiences !== undefined && !audiences.some((audience) => own.includes(audience))) return undefined;
    try {
      return this.#userOf(await this.#verify(token));
    } catch (error) {
      // Log the reason: it is for the administrator, not for the client.
      log.info({ issuer, reason: messageOf(error) }, 'refused an OpenID token');
      throw unauthorized();
    }
  }

  async #verify(token: string): Promise<JWTPayload> {
    const { issuer, clientId, algorithms, clock } = this.#options;
    const nowMs = clock.now();
    const claims = await this.#provider.verify(token, {
      issuer,
      audience: clientId,
      algorithms: [...algorithms],
      currentDate: new Date(nowMs),
      clockTolerance: notBeforeLeewaySeconds,
      requiredClaims: ['exp'],
    });
    // `exp` has no leeway.
    if ((claims.exp ?? 0) * 1000 < nowMs) throw new Error('the token has expired');
    return claims;
  }

  /** Throws Error for invalid claims. */
  #userOf(claims: JWTPayload): UserInfo {
    const { requiredClaims, groupsClaim, groupsPrefix } = this.#options;
    const name = this.#userName(claims);
    const groups = groupsClaim === '' ? [] : groupsOf(claims, groupsClaim);
    for (const [claim, required] of Object.entries(requiredClaims)) {
      if (!Object.hasOwn(claims, claim)) throw new Error(`required claim ${claim} not present in ID token`);
      if (claims[claim] !== required) throw new Error(`required claim ${claim} value does not match`);
    }
    return { name, groups: groups.map((group) => groupsPrefix + group), method: 'oidc' };
  }

  #userName(claims: JWTPayload): string {
    const { issuer, usernameClaim, usernamePrefix } = this.#options;
    const isMail = usernameClaim === 'email';
    const name = claims[usernameClaim];
    if (typeof name !== 'string' || name === '') throw new Error(`claim ${usernameClaim} has no name`);
    // Without the claim, the provider is trusted to verify addresses.
    if (isMail && Object.hasOwn(claims, 'email_verified') && claims['email_verified'] !== true) {
      throw new Error('email not verified');
    }
    if (usernamePrefix === '-') return name;
    return (usernamePrefix === '' && !isMail ? `${issuer}#` : usernamePrefix) + name;
  }
}

/** The claim is one group or a list of groups. */
function groupsOf(claims: JWTPayload, claim: string): readonly string[] {
  const value = claims[claim];
  if (value === undefined) {
    const elsewhere = claims['_claim_names'];
    if (typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim)) {
      throw new Error(`claim ${claim} is a distributed one, which is not supported`);
    }
    return [];
  }
  const groups: unknown[] = Array.isArray(value) ? value : [value];
  const isText = (group: unknown): group is string => typeof group === 'string';
  if (!groups.every(isText)) throw new Error(`claim ${claim} has groups that are not strings`);
  return groups;
}
