import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';

export interface Authenticator {
  /** The user; undefined without credentials of this authenticator's kind. Throws a 401 StatusError for invalid credentials. */
  authenticate(request: ApiRequest): MaybePromise<UserInfo | undefined>;
}

export interface ReviewedToken {
  readonly user: UserInfo;
  /** The token's audiences among those allowed; absent: the token is for this API server, whatever its audiences are. */
  readonly audiences?: readonly string[];
}

export interface TokenAuthenticator {
  /**
   * The token's user; undefined for a token of another kind. Throws a 401 StatusError for an invalid token of this kind.
   * The token must have one of `audiences`; absent: this API server's own.
   */
  authenticateToken(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined>;
  /** Like `authenticateToken`. Absent: tokens of this kind have no audiences of their own. */
  reviewToken?(token: string, audiences?: readonly string[]): Promise<ReviewedToken | undefined>;
}

export async function reviewToken(
  authenticator: TokenAuthenticator,
  token: string,
  audiences?: readonly string[],
): Promise<ReviewedToken | undefined> {
  if (authenticator.reviewToken !== undefined) return authenticator.reviewToken(token, audiences);
  const user = await authenticator.authenticateToken(token, audiences);
  return user && { user };
}
