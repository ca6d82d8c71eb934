import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

/** A request for a resource or for a plain path. */
export interface AuthorizationAttributes {
  readonly user: UserInfo;
  /** `get list watch create update patch delete deletecollection …`, or the lower-case HTTP method for paths. */
  readonly verb: string;
  readonly resourceRequest: boolean;
  /** Group name on the wire; empty for core. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly path: string;
}

export type AuthorizationDecision =
  | { readonly decision: 'allow'; readonly reason: string }
  | { readonly decision: 'deny'; readonly reason: string }
  /** The next authorizer decides; denied when none has an opinion. */
  | { readonly decision: 'noOpinion'; readonly reason: string };

export interface Authorizer {
  readonly mode: string;
  authorize(attributes: AuthorizationAttributes): MaybePromise<AuthorizationDecision>;
}
