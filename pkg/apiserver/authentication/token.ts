/** What the kinds of bearer tokens have in common. */
import type { UserInfo } from '#apiserver/http/exchange.js';

export interface TokenAuthenticator {
  /**
   * The token's user; undefined when this is no token of the kind (the next kind is asked). Throws a 401 StatusError
   * for a token of the kind that is not good. `audiences` are those that the token must be meant for (one of them);
   * absent: this API server's own.
   */
  authenticateToken(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined>;
}
