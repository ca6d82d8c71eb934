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

export interface AuthorizationDecision {
  /** After `noOpinion` the next authorizer decides; the request is denied when none has an opinion. */
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  readonly reason: string;
  /** What kept the authorizers from deciding. A request that is not allowed then fails instead of being refused. */
  readonly error?: string;
}

export interface Authorizer {
  readonly mode: string;
  authorize(attributes: AuthorizationAttributes): MaybePromise<AuthorizationDecision>;
}
