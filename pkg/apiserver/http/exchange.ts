/**
 * A request of the API and its response, free of any HTTP library: the HTTPS server and the in-process transport both hand
 * these to the same handler, so a cluster in one process needs no sockets.
 */

import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import type { HttpRequest, HttpResponse } from '#http/server/exchange.js';

/** Who asks. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface ApiRequest extends HttpRequest {
  /** Set where the body was YAML and is JSON now: what it said twice (`ReadYAML`). */
  repeatedKeys?: readonly string[];
  /** Set where the body is YAML that cannot be read; it is left as it came. */
  yamlFault?: DecodeError;
  /** Set by the in-process transport only: the caller is already known. */
  readonly user?: UserInfo;
}

export type ApiResponse = HttpResponse;

/** The whole API server as a function. Never rejects: failures become Status responses. */
export type ApiHandler = (request: ApiRequest) => Promise<ApiResponse>;

/** The same without a promise where the answer is at hand. Never throws. */
export type PromptHandler = (request: ApiRequest) => MaybePromise<ApiResponse>;
