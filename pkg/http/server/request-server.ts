/** A request of any version of HTTP: it is handed to the handler, and the answer to its target. */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { LazyAbort } from '#apimachinery/cancellation.js';
import type { Logger } from '#daemon/log/logger.js';
import type { AnswerTarget } from '#http/server/answer-target.js';
import { ConnectionLostError } from '#http/server/connection-lost.js';
import type { HttpHandler, HttpRequest, HttpResponse } from '#http/server/exchange.js';
import type { ServerRequest } from '#http/server/server-request.js';
import type { ResponseWriter } from '#http/server/write-response.js';

export interface RequestServerOptions {
  readonly handler: HttpHandler;
  /** The answer to a request that comes to nothing before the handler has it. Never throws. */
  readonly failure: (error: unknown) => HttpResponse;
  readonly writer: ResponseWriter;
  readonly log: Logger;
  /** Value of the Strict-Transport-Security header; absent or empty: none. */
  readonly strictTransportSecurity?: string;
  /** Told of an answer that broke off after its head had been sent, although its client was there. */
  readonly aborted: (request: Pick<HttpRequest, 'method' | 'url' | 'headers'>) => void;
}

export interface ServedExchange {
  readonly request: ServerRequest;
  readonly target: AnswerTarget;
  /** Aborted with `clientGone` when the client goes before its answer is there. */
  readonly gone: LazyAbort;
  /** The handler has answered, the answer is going to be written. */
  answered?(): void;
}

/** Why the work for an answer is stopped of which only the head is wanted. */
export const headSent = new Error('the answer has no body');
/** Why the work for a request is stopped whose client is gone; one for all, since making errors is not cheap. */
export const clientGone = new Error('the client went away');

export class RequestServer {
  readonly #options: RequestServerOptions;

  constructor(options: RequestServerOptions) {
    this.#options = options;
  }

  /** Resolves, or returns, when the answer has been handed over, or is not wanted any more. Never throws, never rejects. */
  serve(exchange: ServedExchange): MaybePromise<void> {
    const broken = (error: unknown) => this.#broken(exchange, error);
    try {
      const answer = this.#options.handler(exchange.request);
      if (!(answer instanceof Promise)) return this.#write(exchange, answer)?.catch(broken);
      return answer.then((made) => this.#write(exchange, made)).catch(broken);
    } catch (error) {
      return broken(error);
    }
  }

  #write(exchange: ServedExchange, answer: HttpResponse): Promise<void> | undefined {
    const { strictTransportSecurity = '', writer } = this.#options;
    const { request, target, gone } = exchange;
    exchange.answered?.();
    if (strictTransportSecurity !== '') answer.headers['strict-transport-security'] = strictTransportSecurity;
    const headOnly = request.method === 'HEAD';
    const writing = writer.write(target, answer, headOnly, gone);
    // A watch, or an answer that is passed on, which nobody reads.
    const headOver = () => gone.abort(headSent);
    if (writing instanceof Promise) return headOnly ? writing.then(headOver) : writing;
    if (headOnly) headOver();
    return undefined;
  }

  #broken(exchange: ServedExchange, error: unknown): MaybePromise<void> {
    const { gone, request } = exchange;
    if (gone.reason !== clientGone) return this.#failed(exchange, error);
    this.#options.log.debug({ err: error, url: request.url }, 'client went away');
  }

  /** What no handler has answered: an answer that cannot be written. Never rejects. */
  async #failed({ request, target, gone }: ServedExchange, error: unknown): Promise<void> {
    const { failure, writer, log, aborted } = this.#options;
    const { url } = request;
    if (target.headersSent) {
      const level = error instanceof ConnectionLostError ? 'info' : 'warn';
      log[level]({ err: error, url }, 'answer broken off');
      aborted(request);
      target.destroy();
      return;
    }
    try {
      await writer.write(target, failure(error), request.method === 'HEAD', gone);
    } catch (err) {
      log.warn({ err, url }, 'cannot answer');
      target.destroy();
    }
  }
}
