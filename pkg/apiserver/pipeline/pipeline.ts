/**
 * The way of every request: request info → time limit → authentication → impersonation → in flight → authorization →
 * body → endpoint → response. Whatever is thrown on the way becomes one Status here and nowhere else.
 */

import { Deadlines } from '#apimachinery/async/deadlines.js';
import type { MaybePromise } from '#apimachinery/async/maybe-promise.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { DurationError, parseDuration } from '#apimachinery/duration.js';
import { badRequest, statusOf, unauthorized } from '#apimachinery/errors/status.js';
import type { Authenticator } from '#apiserver/authentication/authenticator.js';
import { attributesOf, authorize } from '#apiserver/authorization/authorize.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestMetrics } from '#apiserver/http/metrics.js';
import type { AfterTimeout } from '#apiserver/http/request-failures.js';
import { type RequestInfo, requestInfo } from '#apiserver/http/request-info.js';
import { impersonate } from '#apiserver/pipeline/impersonation.js';
import { isLongRunning } from '#apiserver/pipeline/long-running.js';
import { type InFlightCounts, type InFlightLimits, MaxInFlight } from '#apiserver/pipeline/max-in-flight.js';
import { RequestScope } from '#apiserver/pipeline/request-scope.js';
import { type Responder, toStatus } from '#apiserver/representation/respond.js';
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
  /** Of the requests that the limits hold for; absent: those that this pipeline counts. */
  readonly inFlight?: InFlightCounts | undefined;
  readonly metrics: RequestMetrics;
  /** Makes a body ready to be read quickly; undefined where it is. Absent: all are. */
  readonly parseAhead?: (request: ApiRequest) => Promise<void> | undefined;
  /** Longest time a request that is not long-running may take. */
  readonly requestTimeoutMs: number;
}

/** How long the end of work is waited for whose request has been answered with 504. */
const followUpMs = 300_000;

/** Answers an authenticated and authorized request. Throws, or rejects with, what becomes a Status. */
export type Endpoint = (context: RequestContext) => MaybePromise<ApiResponse>;

export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #inFlight: MaxInFlight;
  readonly #deadlines: Deadlines;

  constructor(options: PipelineOptions) {
    this.#options = options;
    const { limits, dialect, metrics, inFlight: counts } = options;
    this.#inFlight = new MaxInFlight({
      limits,
      counts,
      exemptGroup: dialect.groups.masters,
      refused: (kind, { request, info }) => metrics.dropped(kind, request, info),
    });
    this.#deadlines = new Deadlines(options.clock);
    metrics.inFlight(() => this.#inFlight.current);
  }

  /** Never rejects. */
  async run(request: ApiRequest, endpoint: Endpoint): Promise<ApiResponse> {
    const { newUID, responder, metrics, clock, log, dialect } = this.#options;
    const auditId = request.headers['audit-id']?.slice(0, 64) ?? newUID();
    const started = clock.monotonic();
    const warnings: string[] = [];
    let info: RequestInfo | undefined;
    let scope: RequestScope | undefined;
    let response: ApiResponse;
    try {
      info = requestInfo(request);
      scope = new RequestScope(request, info, { auditId, warnings });
      response = await (isLongRunning(info) ? this.#authorized(scope, endpoint) : this.#limited(scope, endpoint));
    } catch (error) {
      response = responder.failure(info === undefined ? undefined : { request, info }, error);
      if (response.status >= 500) {
        const { reason, message } = toStatus(error);
        log.warn({ auditId, method: request.method, url: request.url, reason, message, err: error }, 'request failed');
      }
    } finally {
      if (scope !== undefined) {
        this.#deadlines.delete(scope);
        scope.release();
      }
    }
    const elapsedMs = clock.monotonic() - started;
    const own = scope?.user.name === dialect.users.apiServer;
    response = metrics.observe({ request, info, elapsedMs, own }, response);
    if (log.isLevelEnabled('debug')) {
      log.debug({ auditId, method: request.method, url: request.url, status: response.status, elapsedMs }, 'request');
    }
    response.headers['audit-id'] = auditId;
    response.headers['cache-control'] ??= 'no-cache, private';
    if (warnings.length > 0) response.headers['warning'] = warnings.map(warningHeader).join(', ');
    return response;
  }

  #limited(scope: RequestScope, endpoint: Endpoint): Promise<ApiResponse> {
    const dueMs = this.#options.clock.monotonic() + this.#timeLimit(scope.info);
    return new Promise((resolve, reject) => {
      const work = this.#authorized(scope, endpoint);
      scope.limit(dueMs, (error) => {
        reject(error);
        this.#options.metrics.timedOut(scope.request, scope.info);
        this.#followUp(work);
      });
      this.#deadlines.add(scope);
      work.then(resolve, reject);
    });
  }

  /** Tells what becomes of the work on a request whose time was over. */
  #followUp(work: Promise<ApiResponse>): void {
    const { metrics, clock } = this.#options;
    let told = false;
    const tell = (status: AfterTimeout) => {
      if (!told) metrics.afterTimeout(status);
      told = true;
      timer.cancel();
    };
    const timer = clock.setTimer(() => tell('pending'), followUpMs);
    work.then(
      () => tell('ok'),
      // An answer all the same, unless nobody has foreseen it.
      (error: unknown) => tell(statusOf(error) === undefined ? 'panic' : 'ok'),
    );
  }

  async #authorized(scope: RequestScope, endpoint: Endpoint): Promise<ApiResponse> {
    const { authenticator, authorizer, dialect, clock, metrics } = this.#options;
    const { filters } = metrics;
    const { request, info } = scope;
    const startedMs = clock.monotonic();
    const known = request.user ?? authenticator.authenticate(request);
    const user = known instanceof Promise ? await known : known;
    if (user === undefined) throw unauthorized();
    const authenticatedMs = clock.monotonic();
    if (request.user === undefined) filters.authentication.observe((authenticatedMs - startedMs) / 1000);
    const treatedAs = impersonate(request, user, authorizer, dialect);
    scope.user = treatedAs instanceof Promise ? await treatedAs : treatedAs;
    const impersonatedMs = clock.monotonic();
    filters.impersonation.observe((impersonatedMs - authenticatedMs) / 1000);
    const leave = this.#inFlight.enter(scope);
    try {
      const allowed = authorize(authorizer, attributesOf(info, scope.user));
      if (allowed instanceof Promise) await allowed;
      filters.authorization.observe((clock.monotonic() - impersonatedMs) / 1000);
      // Only now that its sender may send it.
      if (request.readBody !== undefined) request.body = await request.readBody();
      const ahead = this.#options.parseAhead?.(request);
      if (ahead !== undefined) await ahead;
      return await endpoint(scope);
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

/** Milliseconds of the `timeout` parameter. Throws 400 for what is no duration. */
function parseTimeout(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw badRequest(`invalid timeout specified in the request URL - ${error.message}`, error);
  }
}

/** RFC 7234 form; code 299 and no agent, as 1.24 writes it. */
function warningHeader(text: string): string {
  const printable = text.replace(/[^\x20-\x7e]/g, '?').replace(/[\\"]/g, '\\$&');
  return `299 - "${printable}"`;
}
