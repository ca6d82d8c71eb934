/** Serves requests: those of the users that use least first, while the event loop is busy. */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import { tooManyRequests } from '#apimachinery/errors/status.js';
import type { Logger } from '#daemon/log/logger.js';
import { BrokenBody } from '#http/server/broken-body.js';
import {
  type Account,
  clientGone,
  type Exchange,
  type ExchangeServer,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  headSent,
} from '#http/server/exchange.js';
import { RequestLine } from '#http/server/request-line.js';
import type { ResponseWriter } from '#http/server/response-writer.js';
import { ConnectionLostError } from '#http/server/sending.js';

export interface RequestServerOptions {
  readonly clock: Clock;
  /** Calls back after other work of the event loop. */
  readonly defer: (then: () => void) => unknown;
  readonly handler: HttpHandler;
  /** Response to a request that fails before the handler gets it. Never throws. */
  readonly failure: (error: unknown) => HttpResponse;
  readonly writer: ResponseWriter;
  readonly log: Logger;
  /** Value of the Strict-Transport-Security header; absent or empty: none. */
  readonly strictTransportSecurity?: string;
  /** Called if a response broke off after its head, although the client was connected. */
  readonly aborted: (request: Pick<HttpRequest, 'method' | 'url' | 'headers'>) => void;
}

/** Time for requests in one turn of the event loop; further ones wait in line for the next. */
const turnMs = 1;
/** Limits of the line. */
const maxWaiting = 20_000;
const maxWaitMs = 30_000;
const retryAfterSeconds = 1;

/** Passes requests to the handler and responses to their exchanges. */
export class RequestServer implements ExchangeServer {
  readonly #options: RequestServerOptions;
  readonly #line = new RequestLine();
  /** Requests in the line. */
  #waiting = 0;
  /** In this turn. */
  #spentMs = 0;
  #deferred = false;

  constructor(options: RequestServerOptions) {
    this.#options = options;
  }

  /** Resolves, or returns, when the response was handed over or is not needed. Never throws or rejects. */
  serve(exchange: Exchange): MaybePromise<void> {
    const { account } = exchange.request;
    if (account === undefined) return this.#serve(exchange);
    if (this.#spentMs < turnMs && this.#waiting === 0) return this.#timed(exchange, account);
    if (this.#waiting >= maxWaiting) return this.#failed(exchange, busy());
    this.#waiting += 1;
    return new Promise((begun) => {
      this.#line.add({ exchange, account, sinceMs: this.#options.clock.monotonic(), begun });
      this.#defer();
    });
  }

  #timed(exchange: Exchange, account: Account): MaybePromise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonic();
    const work = this.#serve(exchange);
    const nowMs = clock.monotonic();
    account.charge(nowMs - startedMs, nowMs);
    this.#spentMs += nowMs - startedMs;
    if (!this.#deferred) this.#defer();
    return work;
  }

  #defer(): void {
    if (this.#deferred) return;
    this.#deferred = true;
    this.#options.defer(this.#turn);
  }

  readonly #turn = (): void => {
    const { clock } = this.#options;
    this.#deferred = false;
    this.#spentMs = 0;
    if (this.#waiting === 0) return;
    for (let nowMs = clock.monotonic(); this.#spentMs < turnMs; nowMs = clock.monotonic()) {
      const waiting = this.#line.next(nowMs);
      if (waiting === undefined) break;
      this.#waiting -= 1;
      const { exchange, account, sinceMs, begun } = waiting;
      // Clients that cancel their requests cost nothing more.
      if (exchange.destroyed) begun();
      else if (nowMs - sinceMs > maxWaitMs) begun(this.#failed(exchange, busy()));
      else begun(this.#timed(exchange, account));
    }
    this.#defer();
  };

  #serve(exchange: Exchange): MaybePromise<void> {
    const broken = (error: unknown) => this.#broken(exchange, error);
    try {
      const answer = this.#options.handler(exchange.request);
      if (!(answer instanceof Promise)) return this.#write(exchange, answer)?.catch(broken);
      return answer.then((response) => this.#write(exchange, response)).catch(broken);
    } catch (error) {
      return broken(error);
    }
  }

  #write(exchange: Exchange, answer: HttpResponse): Promise<void> | undefined {
    const { strictTransportSecurity = '', writer } = this.#options;
    const { request, gone } = exchange;
    exchange.answered?.();
    if (answer.body instanceof BrokenBody) {
      exchange.destroy();
      return undefined;
    }
    if (strictTransportSecurity !== '') answer.headers['strict-transport-security'] = strictTransportSecurity;
    const headOnly = request.method === 'HEAD';
    const writing = writer.write(exchange, answer, headOnly, gone);
    // A watch or a forwarded response has no reader then.
    const headOver = () => gone.abort(headSent);
    if (writing instanceof Promise) return headOnly ? writing.then(headOver) : writing;
    if (headOnly) headOver();
    return undefined;
  }

  #broken(exchange: Exchange, error: unknown): MaybePromise<void> {
    const { gone, request } = exchange;
    if (gone.reason !== clientGone) return this.#failed(exchange, error);
    this.#options.log.debug({ err: error, url: request.url }, 'client went away');
  }

  /** The response cannot be written. Never rejects. */
  async #failed(exchange: Exchange, error: unknown): Promise<void> {
    const { failure, writer, log, aborted } = this.#options;
    const { request, gone } = exchange;
    const { url } = request;
    if (exchange.headersSent) {
      const level = error instanceof ConnectionLostError ? 'info' : 'warn';
      log[level]({ err: error, url }, 'response broke off');
      aborted(request);
      exchange.destroy();
      return;
    }
    try {
      await writer.write(exchange, failure(error), request.method === 'HEAD', gone);
    } catch (err) {
      log.warn({ err, url }, 'cannot send a response');
      exchange.destroy();
    }
  }
}

function busy(): Error {
  return tooManyRequests('The server is busy, please try again later.', retryAfterSeconds);
}
