/** The mutable context of one request in the pipeline. */
import type { Expiring } from '#apimachinery/async/deadline-timer.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import { timeout } from '#apimachinery/errors/status.js';
import type { RequestAudit } from '#apiserver/audit/request-audit.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';

const anonymous: UserInfo = { name: 'system:anonymous', groups: [] };

/** A class, like ServerRequest and for the same reason. */
export class RequestScope implements RequestContext, Expiring {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly auditId: string;
  readonly warnings: string[];
  user = anonymous;
  visible: RequestContext['visible'];
  timings: string[] | undefined;
  webhookMs: RequestContext['webhookMs'];
  responseHeaders: RequestContext['responseHeaders'];
  initialized: RequestContext['initialized'];
  authenticated = false;
  audit: RequestAudit | undefined;
  dueMs = Number.POSITIVE_INFINITY;
  place = -1;
  #expired: ((error: unknown) => void) | undefined;
  /** Follows the request's signal where the pipeline cannot abort that signal itself; created on first use. */
  #own: { readonly controller: AbortController; readonly follow: () => void } | undefined;

  constructor(request: ApiRequest, info: RequestInfo, more: { readonly auditId: string; readonly warnings: string[] }) {
    this.request = request;
    this.info = info;
    this.auditId = more.auditId;
    this.warnings = more.warnings;
  }

  get signal(): AbortSignal {
    const { request } = this;
    if (this.#expired === undefined || request.cancel !== undefined) return request.signal;
    if (this.#own === undefined) {
      const { signal } = request;
      const controller = new AbortController();
      const follow = () => controller.abort(signal.reason);
      if (signal.aborted) follow();
      else signal.addEventListener('abort', follow, { once: true });
      this.#own = { controller, follow };
    }
    return this.#own.controller.signal;
  }

  get cancellation(): Cancellation {
    const { cancellation } = this.request;
    // Without `cancel`, the timeout shows only in the scope's own signal.
    return this.request.cancel === undefined || cancellation === undefined ? this.signal : cancellation;
  }

  /** Sets the deadline; `expired` is called when it passes. */
  limit(dueMs: number, expired: (error: unknown) => void): void {
    this.dueMs = dueMs;
    this.#expired = expired;
  }

  expire(): void {
    const error = timeout('request did not complete within the allotted timeout');
    this.#expired?.(error);
    if (this.request.cancel !== undefined) this.request.cancel(error);
    else this.#own?.controller.abort(error);
  }

  /** Called when the request has its response. */
  release(): void {
    if (this.#own !== undefined) this.request.signal.removeEventListener('abort', this.#own.follow);
  }
}
