import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';

/** Finds out who asks. */
export interface Authenticator {
  /**
   * The user, or undefined when the request carries no credentials this authenticator knows. Throws a 401 StatusError
   * for credentials that are there but wrong.
   */
  authenticate(request: ApiRequest): MaybePromise<UserInfo | undefined>;
}
