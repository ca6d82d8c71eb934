/**
 * A request of the API and its response, free of any HTTP library: the HTTPS server and the in-process transport both hand
 * these to the same handler, so a cluster in one process needs no sockets.
 */

import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import type { HttpRequest, HttpResponse } from '#http/server/exchange.js';

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  /** Name of the way in which the user was authenticated, for the audit log only: `client-certificate`. */
  readonly method?: string;
}

export interface ApiRequest extends HttpRequest {
  /** Set if the body was converted from YAML to JSON: its duplicate keys (`ReadYAML`). */
  repeatedKeys?: readonly string[];
  /** Set if the body is invalid YAML; the body then stays as received. */
  yamlFault?: DecodeError;
  /** Set only by the in-process transport, whose callers need no authentication. */
  readonly user?: UserInfo;
}

export type ApiResponse = HttpResponse;

/** The whole API server as a function. Never rejects: failures become Status responses. */
export type ApiHandler = (request: ApiRequest) => Promise<ApiResponse>;

/** Like `ApiHandler`, but without a promise when the response is available at once. Never throws. */
export type PromptHandler = (request: ApiRequest) => MaybePromise<ApiResponse>;
