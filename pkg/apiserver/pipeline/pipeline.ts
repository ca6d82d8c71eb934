/**
 * The stages of every request: request info → time limit → authentication → impersonation → authorization → body → flow
 * control → endpoint → response. An error of any stage becomes a Status here and nowhere else.
 */
import { DeadlineTimer } from '#apimachinery/async/deadline-timer.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { DurationError, parseDuration } from '#apimachinery/duration.js';
import { badRequest, statusOf, tooManyRequests, unauthorized } from '#apimachinery/errors/status.js';
import type { Auditor } from '#apiserver/audit/auditor.js';
import type { RequestAudit, StartedRequest } from '#apiserver/audit/request-audit.js';
import { attemptedBy } from '#apiserver/audit/request-origin.js';
import type { Authenticator } from '#apiserver/authentication/authenticator.js';
import { attributesOf, authorize } from '#apiserver/authorization/authorize.js';
import type { AuthorizationDecision, Authorizer } from '#apiserver/authorization/authorizer.js';
import type { ApiRequest, ApiResponse, UserInfo } from '#apiserver/http/exchange.js';
import type { AuditTrail, RequestContext } from '#apiserver/http/request-context.js';
import type { AfterTimeout } from '#apiserver/http/request-failures.js';
import { isLongRunning, type RequestInfo, requestInfo } from '#apiserver/http/request-info.js';
import type { RequestMetrics } from '#apiserver/http/request-metrics.js';
import type { VisibleNamespaces } from '#apiserver/http/visible-namespaces.js';
import type { FlowControl, Leave } from '#apiserver/pipeline/flow-control.js';
import { impersonate } from '#apiserver/pipeline/impersonation.js';
import { RequestScope } from '#apiserver/pipeline/request-scope.js';
import { traced } from '#apiserver/pipeline/request-span.js';
import { type Responder, toStatus } from '#apiserver/representation/respond.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import { clientGone } from '#http/server/exchange.js';

export interface PipelineOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly newUID: () => string;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly responder: Responder;
  readonly flow: FlowControl;
  readonly metrics: RequestMetrics;
  /** Absent: nothing is recorded. */
  readonly auditor?: Auditor | undefined;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** Prepares bodies above a size for fast decoding; `parse` returns undefined if there is nothing to do. Absent: never. */
  readonly parseAhead?: {
    readonly aboveBytes: number;
    readonly parse: (request: ApiRequest, user: string) => Promise<void> | undefined;
  };
  /** True where the endpoint streams the body itself; absent: never. */
  readonly passesOn?: (context: RequestContext) => boolean;
  /**
   * The namespaces that a list or watch over all of them answers from; undefined: it is authorized like other requests. Absent:
   * all are.
   */
  readonly visibleTo?: ((context: RequestContext) => VisibleNamespaces | undefined) | undefined;
  /** Time limit of requests that are not long-running. */
  readonly requestTimeoutMs: number;
}

/** How long the metrics wait for the end of work whose request got 504. */
const followUpMs = 300_000;
const tooManyOpen = 'You have as many open requests as the server allows, please try again later.';
const noWebhooks = { inTurn: 0, atOnce: 0 } as const;

/** Answers an authenticated and authorized request. Its errors become a Status. */
export type Endpoint = (context: RequestContext) => MaybePromise<ApiResponse>;

/** A request in the pipeline. */
interface Run {
  readonly request: ApiRequest;
  readonly auditId: string;
  readonly startedMs: number;
  readonly warnings: string[];
  /** Undefined for a malformed request. */
  scope: RequestScope | undefined;
}

export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #deadlines: DeadlineTimer;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#deadlines = new DeadlineTimer(options.clock);
  }

  /** Synchronous where no stage has to wait. Never throws, never rejects. */
  run(request: ApiRequest, endpoint: Endpoint): MaybePromise<ApiResponse> {
    const { tracer, dialect } = this.#options;
    if (tracer === undefined) return this.#run(request, endpoint);
    return traced({ tracer, dialect }, request, () => this.#run(request, endpoint));
  }

  #run(request: ApiRequest, endpoint: Endpoint): MaybePromise<ApiResponse> {
    const { newUID, clock } = this.#options;
    const auditId = request.headers['audit-id']?.slice(0, 64) ?? newUID();
    const run: Run = { request, auditId, startedMs: clock.monotonic(), warnings: [], scope: undefined };
    try {
      const info = requestInfo(request);
      const scope = new RequestScope(request, info, run);
      run.scope = scope;
      const answer = isLongRunning(info) ? this.#authorized(scope, endpoint) : this.#limited(scope, endpoint);
      if (!(answer instanceof Promise)) return this.#answered(run, answer);
      return answer.then(
        (response) => this.#answered(run, response),
        (error: unknown) => this.#failed(run, error),
      );
    } catch (error) {
      return this.#failed(run, error);
    }
  }

  #failed(run: Run, error: unknown): MaybePromise<ApiResponse> {
    const { responder, log, auditor } = this.#options;
    const { request, scope, auditId } = run;
    const response = responder.failure(scope, error);
    if (auditor !== undefined && scope !== undefined) {
      if (scope.audit !== undefined) scope.audit.failed(toStatus(error));
      else if (!scope.authenticated) scope.audit = this.#refused(auditor, run, scope, error);
    }
    // Clients that cancel their requests would fill the log.
    if (response.status >= 500 && error !== clientGone) {
      const { reason, message } = toStatus(error);
      log.warn({ auditId, method: request.method, url: request.url, reason, message, err: error }, 'request failed');
    }
    return this.#answered(run, response);
  }

  /** Records a request that was not authenticated. */
  #refused(auditor: Auditor, run: Run, scope: RequestScope, error: unknown): RequestAudit | undefined {
    const audit = auditor.begin(this.#arrived(scope, run.startedMs), undefined);
    const status = toStatus(error);
    if (status.code === 401) audit?.unauthenticated(attemptedBy(run.request));
    else audit?.failed(status);
    return audit;
  }

  #arrived({ request, info, auditId }: RequestScope, startedMs: number): StartedRequest {
    const { clock } = this.#options;
    const receivedMs = clock.now() - (clock.monotonic() - startedMs);
    return { request, info, auditId, receivedMs, longRunning: isLongRunning(info) };
  }

  #answered({ request, scope, auditId, warnings, startedMs }: Run, response: ApiResponse): MaybePromise<ApiResponse> {
    const { metrics, clock, log, dialect } = this.#options;
    if (scope !== undefined) {
      this.#deadlines.delete(scope);
      scope.release();
    }
    const elapsedMs = clock.monotonic() - startedMs;
    const own = scope?.user.name === dialect.users.apiServer;
    const { inTurn, atOnce } = scope?.webhookMs ?? noWebhooks;
    const observed = { request, info: scope?.info, elapsedMs, webhookMs: inTurn + atOnce, own };
    metrics.observe(observed, response);
    if (log.isLevelEnabled('debug')) {
      log.debug({ auditId, method: request.method, url: request.url, status: response.status, elapsedMs }, 'request');
    }
    response.headers['audit-id'] = auditId;
    response.headers['cache-control'] ??= 'no-cache, private';
    if (warnings.length > 0) response.headers['warning'] = warnings.map(warningHeader).join(', ');
    if (scope?.responseHeaders !== undefined) Object.assign(response.headers, scope.responseHeaders);
    if (scope?.timings !== undefined) response.headers['server-timing'] = scope.timings.join(', ');
    if (scope?.audit === undefined) return response;
    return scope.authenticated ? scope.audit.answered(response) : scope.audit.refused(response);
  }

  #limited(scope: RequestScope, endpoint: Endpoint): MaybePromise<ApiResponse> {
    const dueMs = this.#options.clock.monotonic() + this.#timeLimit(scope.info);
    let expired: ((error: unknown) => void) | undefined;
    scope.limit(dueMs, (error) => expired?.(error));
    const work = this.#authorized(scope, endpoint);
    if (!(work instanceof Promise)) return work;
    return new Promise((resolve, reject) => {
      expired = (error) => {
        reject(error);
        this.#options.metrics.timedOut(scope.request, scope.info);
        this.#followUp(work);
      };
      this.#deadlines.add(scope);
      work.then(resolve, reject);
    });
  }

  /** Counts how the work on a timed-out request ends. */
  #followUp(work: Promise<ApiResponse>): void {
    const { metrics, clock } = this.#options;
    let counted = false;
    const count = (status: AfterTimeout) => {
      if (!counted) metrics.afterTimeout(status);
      counted = true;
      timer.cancel();
    };
    const timer = clock.setTimer(() => count('pending'), followUpMs);
    work.then(
      () => count('ok'),
      // A Status is a proper response; any other error is a bug.
      (error: unknown) => count(statusOf(error) === undefined ? 'panic' : 'ok'),
    );
  }

  #authorized(scope: RequestScope, endpoint: Endpoint): MaybePromise<ApiResponse> {
    const { authenticator, clock } = this.#options;
    const { request } = scope;
    const startedMs = clock.monotonic();
    const user = request.user ?? authenticator.authenticate(request);
    return andThen(user, (each) => this.#authenticated(scope, endpoint, each, startedMs));
  }

  #authenticated(
    scope: RequestScope,
    endpoint: Endpoint,
    user: UserInfo | undefined,
    startedMs: number,
  ): MaybePromise<ApiResponse> {
    if (user === undefined) throw unauthorized();
    if (!this.#claim(scope.request, user)) throw tooManyRequests(tooManyOpen, 1);
    scope.authenticated = true;
    scope.audit = this.#options.auditor?.begin(this.#arrived(scope, startedMs), user);
    const received = scope.audit?.received();
    if (received === undefined) return this.#recorded(scope, endpoint, user, startedMs);
    return andThen(received, () => this.#recorded(scope, endpoint, user, startedMs));
  }

  /** Anonymous clients at different addresses do not share. */
  #claim(request: ApiRequest, { name, groups }: UserInfo): boolean {
    const owner = name === this.#options.dialect.users.anonymous ? request.remoteAddress : name;
    return request.claim?.(owner, groups) !== false;
  }

  #recorded(scope: RequestScope, endpoint: Endpoint, user: UserInfo, startedMs: number): MaybePromise<ApiResponse> {
    const { authorizer, dialect, clock, metrics } = this.#options;
    const { request } = scope;
    const nowMs = clock.monotonic();
    if (request.user === undefined) metrics.filters.authentication.observe((nowMs - startedMs) / 1000);
    const effectiveUser = impersonate(request, user, authorizer, dialect);
    return andThen(effectiveUser, (as) => {
      if (as !== user) scope.audit?.impersonated(as);
      return this.#impersonated(scope, endpoint, as, nowMs);
    });
  }

  #impersonated(scope: RequestScope, endpoint: Endpoint, user: UserInfo, startedMs: number): MaybePromise<ApiResponse> {
    const { authorizer, dialect, clock, metrics, visibleTo } = this.#options;
    scope.user = user;
    const nowMs = clock.monotonic();
    metrics.filters.impersonation.observe((nowMs - startedMs) / 1000);
    const { audit } = scope;
    const record = audit && ((decision: AuthorizationDecision) => recordDecision(audit, dialect, decision));
    const visible = visibleTo !== undefined && spans(scope.info) ? visibleTo(scope) : undefined;
    if (visible !== undefined) {
      scope.visible = visible;
      record?.({ decision: 'allow', reason: 'visible namespaces only' });
      return this.#allowed(scope, endpoint, nowMs);
    }
    const allowed = authorize(authorizer, attributesOf(scope.info, user), scope.request.url, record);
    return andThen(allowed, () => this.#allowed(scope, endpoint, nowMs));
  }

  /** Reads the body only after authorization, and before flow control: a slow client must not hold a place. */
  #allowed(scope: RequestScope, endpoint: Endpoint, startedMs: number): MaybePromise<ApiResponse> {
    const { clock, metrics, passesOn } = this.#options;
    const { request } = scope;
    metrics.filters.authorization.observe((clock.monotonic() - startedMs) / 1000);
    const streams = passesOn?.(scope) === true;
    if (streams || request.readBody === undefined) return this.#enter(scope, endpoint, streams);
    return request.readBody().then((body) => {
      request.body = body;
      return this.#enter(scope, endpoint, false);
    });
  }

  #enter(scope: RequestScope, endpoint: Endpoint, passesOn: boolean): MaybePromise<ApiResponse> {
    const leave = this.#options.flow.enter(scope, passesOn);
    if (leave instanceof Promise) return leave.then((each) => this.#entered(scope, endpoint, each));
    return this.#entered(scope, endpoint, leave);
  }

  /** Calls `leave` when the request has its response. */
  #entered(scope: RequestScope, endpoint: Endpoint, leave: Leave): MaybePromise<ApiResponse> {
    try {
      const ahead = this.#parseAhead(scope);
      const answer = ahead === undefined ? endpoint(scope) : ahead.then(() => endpoint(scope));
      if (answer instanceof Promise) return leaveAfter(answer, leave);
      leave(answer);
      return answer;
    } catch (error) {
      leave();
      throw error;
    }
  }

  #parseAhead({ request, user }: RequestScope): Promise<void> | undefined {
    const { parseAhead } = this.#options;
    return parseAhead !== undefined && request.body.length > parseAhead.aboveBytes
      ? parseAhead.parse(request, user.name)
      : undefined;
  }

  #timeLimit(info: RequestInfo): number {
    const text = info.query.get('timeout');
    if (text === null || text === '') return this.#options.requestTimeoutMs;
    const ms = parseTimeout(text);
    return ms <= 0 ? this.#options.requestTimeoutMs : Math.min(ms, this.#options.requestTimeoutMs);
  }
}

/** True for lists and watches that name no namespace. */
function spans({ verb, namespace }: RequestInfo): boolean {
  return (verb === 'list' || verb === 'watch') && namespace === '';
}

/** Like `answer.finally(leave)`, with fewer promises. */
function leaveAfter(answer: Promise<ApiResponse>, leave: Leave): Promise<ApiResponse> {
  return answer.then(
    (response) => {
      leave(response);
      return response;
    },
    (error: unknown) => {
      leave();
      throw error;
    },
  );
}

function recordDecision(audit: AuditTrail, dialect: Dialect, { decision, reason, error }: AuthorizationDecision): void {
  const group = dialect.groupName('authorization');
  if (decision !== 'allow' && error !== undefined) {
    audit.annotate(`${group}/reason`, 'internal error');
    return;
  }
  audit.annotate(`${group}/decision`, decision === 'allow' ? 'allow' : 'forbid');
  audit.annotate(`${group}/reason`, reason);
}

/** The `timeout` parameter in milliseconds. Throws 400. */
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
