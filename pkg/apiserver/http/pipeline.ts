/**
 * The way of every request: request info → time limit → authentication → impersonation → in flight → authorization →
 * body → endpoint → response. Whatever is thrown on the way becomes one Status here and nowhere else.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { DurationError, parseDuration } from '#apimachinery/duration.js';
import { badRequest, timeout, unauthorized } from '#apimachinery/errors/status.js';
import type { Authenticator } from '#apiserver/authentication/authenticator.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import { attributesOf, authorize } from '#apiserver/http/authorize.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiRequest, ApiResponse, UserInfo } from '#apiserver/http/exchange.js';
import { impersonate } from '#apiserver/http/impersonation.js';
import { isLongRunning } from '#apiserver/http/long-running.js';
import { type InFlightLimits, MaxInFlight } from '#apiserver/http/max-in-flight.js';
import type { RequestMetrics } from '#apiserver/http/metrics.js';
import { type RequestInfo, requestInfo } from '#apiserver/http/request-info.js';
import { type Responder, toStatus } from '#apiserver/http/respond.js';
import type { Logger } from '#daemon/log/logger.js';

export interface PipelineOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly newUID: () => string;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly responder: Responder;
  readonly limits: InFlightLimits;
  readonly metrics: RequestMetrics;
  /** Longest time a request that is not long-running may take. */
  readonly requestTimeoutMs: number;
}

/** Answers an authenticated and authorized request. */
export type Endpoint = (context: RequestContext) => Promise<ApiResponse>;

const nobody: UserInfo = { name: 'system:anonymous', groups: [] };

export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #inFlight: MaxInFlight;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#inFlight = new MaxInFlight(options.limits, options.dialect.groups.masters);
    options.metrics.inFlight(() => this.#inFlight.current);
  }

  /** Never rejects. */
  async run(request: ApiRequest, endpoint: Endpoint): Promise<ApiResponse> {
    const { newUID, responder, metrics, clock, log } = this.#options;
    const auditId = request.headers['audit-id']?.slice(0, 64) ?? newUID();
    const started = clock.monotonic();
    const warnings: string[] = [];
    let info: RequestInfo | undefined;
    let response: ApiResponse;
    try {
      info = requestInfo(request);
      response = await this.#guarded(
        {
          request,
          info,
          auditId,
          warnings,
          user: nobody,
          get signal() {
            return request.signal;
          },
        },
        endpoint,
      );
    } catch (error) {
      response = responder.failure(info === undefined ? undefined : { request, info }, error);
      if (response.status >= 500) {
        const { reason, message } = toStatus(error);
        log.warn({ auditId, method: request.method, url: request.url, reason, message, err: error }, 'request failed');
      }
    }
    const elapsedMs = clock.monotonic() - started;
    metrics.observe(request, info, response.status, elapsedMs);
    log.debug({ auditId, method: request.method, url: request.url, status: response.status, elapsedMs }, 'request');
    response.headers['audit-id'] = auditId;
    response.headers['cache-control'] ??= 'no-cache, private';
    if (warnings.length > 0) response.headers['warning'] = warnings.map(warningHeader).join(', ');
    return response;
  }

  async #guarded(context: RequestContext, endpoint: Endpoint): Promise<ApiResponse> {
    if (isLongRunning(context.info)) return this.#authorized(context, endpoint);
    const limitMs = this.#timeLimit(context.info);
    const scope = cancellable(context.request);
    let timer: { cancel(): void } | undefined;
    try {
      return await new Promise((resolve, reject) => {
        timer = this.#options.clock.setTimer(() => {
          const error = timeout('request did not complete within the allotted timeout');
          reject(error);
          scope.cancel(error);
        }, limitMs);
        this.#authorized(scope.limited(context), endpoint).then(resolve, reject);
      });
    } finally {
      timer?.cancel();
      scope.release();
    }
  }

  async #authorized(context: RequestContext, endpoint: Endpoint): Promise<ApiResponse> {
    const { authenticator, authorizer, dialect } = this.#options;
    const { request, info } = context;
    const user = request.user ?? (await authenticator.authenticate(request));
    if (user === undefined) throw unauthorized();
    context.user = await impersonate(request, user, authorizer, dialect);
    const leave = this.#inFlight.enter(context);
    try {
      await authorize(authorizer, attributesOf(info, context.user));
      return await endpoint(await withBody(context));
    } finally {
      leave();
    }
  }

  #timeLimit(info: RequestInfo): number {
    const asked = info.query.get('timeout');
    if (asked === null || asked === '') return this.#options.requestTimeoutMs;
    const ms = parseTimeout(asked);
    return ms <= 0 ? this.#options.requestTimeoutMs : Math.min(ms, this.#options.requestTimeoutMs);
  }
}

interface Cancellable {
  /** The context with a signal that `cancel` aborts. */
  limited(context: RequestContext): RequestContext;
  cancel(reason: unknown): void;
  release(): void;
}

/** The request's signal with the means to abort it; where the request does not give them, a signal that follows its own. */
function cancellable(request: ApiRequest): Cancellable {
  const { cancel } = request;
  if (cancel !== undefined) return { limited: (context) => context, cancel, release: () => undefined };
  const { signal } = request;
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return {
    limited: (context) => ({ ...context, signal: controller.signal }),
    cancel: (reason) => controller.abort(reason),
    release: () => signal.removeEventListener('abort', abort),
  };
}

/** Milliseconds of the `timeout` parameter. Throws 400 for what is no duration. */
function parseTimeout(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw badRequest(`invalid timeout specified in the request URL - ${error.message}`, error);
  }
}

/** The request with its body, which is read only now that its sender may send it. */
async function withBody(context: RequestContext): Promise<RequestContext> {
  if (context.request.readBody === undefined) return context;
  const { readBody, ...request } = context.request;
  return { ...context, request: { ...request, body: await readBody() } };
}

/** RFC 7234 form; code 299 and no agent, as 1.24 writes it. */
function warningHeader(text: string): string {
  const printable = text.replace(/[^\x20-\x7e]/g, '?').replace(/[\\"]/g, '\\$&');
  return `299 - "${printable}"`;
}
