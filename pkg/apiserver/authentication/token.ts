/** What the kinds of bearer tokens have in common. */
import type { UserInfo } from '#apiserver/http/exchange.js';

export interface TokenAuthenticator {
  /**
   * The token's user; undefined when this is no token of the kind (the next kind is asked). Throws a 401 StatusError
   * for a token of the kind that is not good.
   */
  authenticateToken(token: string): Promise<UserInfo | undefined>;
}
