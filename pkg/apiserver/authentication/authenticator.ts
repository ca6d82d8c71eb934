import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';

export interface Authenticator {
  /** The user; undefined without credentials of this authenticator's kind. Throws a 401 StatusError for invalid credentials. */
  authenticate(request: ApiRequest): MaybePromise<UserInfo | undefined>;
}

export interface TokenAuthenticator {
  /**
   * The token's user; undefined for a token of another kind. Throws a 401 StatusError for an invalid token of this kind.
   * The token must have one of `audiences`; absent: this API server's own.
   */
  authenticateToken(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined>;
}
