/** Where the pipeline bounds the work in progress. */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';

export interface FlowControl {
  /**
   * Called for each authorized request when its body is there, so that a slow client holds nothing. `passesOn`: the endpoint
   * streams the body to another server, and this one only waits. Returns, perhaps after a wait, a function to be called
   * once, when the request has its response. Throws 429.
   */
  enter(context: RequestContext, passesOn: boolean): MaybePromise<Leave>;
}

/** Called once: with the response before it is sent, or without one if the request has failed. */
export type Leave = (response?: ApiResponse) => void;
