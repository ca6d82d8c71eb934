/**
 * Requests that wait while the event loop is busy. The user that has used least goes first, so that a flood delays itself: who
 * asks seldom overtakes those who ask without a pause.
 */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Account, Exchange } from '#http/server/exchange.js';

export interface WaitingRequest {
  readonly exchange: Exchange;
  readonly account: Account;
  readonly sinceMs: number;
  /** Called with the end of the request's work. */
  readonly begun: (work?: MaybePromise<void>) => void;
}

export class RequestLine {
  /** In order of arrival. */
  readonly #lines = new Map<Account, WaitingRequest[]>();

  add(request: WaitingRequest): void {
    const line = this.#lines.get(request.account);
    if (line === undefined) this.#lines.set(request.account, [request]);
    else line.push(request);
  }

  /** Removes the next request. `nowMs`: monotonic. */
  next(nowMs: number): WaitingRequest | undefined {
    let least: Account | undefined;
    let leastUsed = Number.POSITIVE_INFINITY;
    for (const account of this.#lines.keys()) {
      const used = account.used(nowMs);
      if (used >= leastUsed) continue;
      least = account;
      leastUsed = used;
    }
    if (least === undefined) return undefined;
    const line = this.#lines.get(least) ?? [];
    const request = line.shift();
    if (line.length === 0) this.#lines.delete(least);
    return request;
  }
}
