/** One request on its way through the pipeline. */
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';

/** What the audit log is told on the way of a request. */
export interface AuditTrail {
  /** The first value of a key stays. */
  annotate(key: string, value: string): void;
  /** Whether so much is recorded. */
  reaches(level: 'Metadata' | 'Request' | 'RequestResponse'): boolean;
  /** The object that the client has sent. */
  requested(object: object): void;
  /** What else it has sent: a patch, options. */
  requestedValue(value: unknown): void;
  /** Another server answers. */
  passedOn(): void;
  /** A connection is over that was taken from its server. */
  completed(): void;
}

export interface RequestContext {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  /** Who asks; set by the authentication step, replaced by impersonation. */
  user: UserInfo;
  /** Texts for `Warning` headers, in order, without duplicates. */
  readonly warnings: string[];
  readonly auditId: string;
  /** Of what took its time: parts of the `Server-Timing` header. */
  timings?: string[] | undefined;
  /** Time that webhooks took: of those that are asked in turn all of it, of those that are asked at once the longest. */
  webhookMs?: { inTurn: number; atOnce: number } | undefined;
  /** Absent: nothing is recorded of the request. */
  readonly audit?: AuditTrail | undefined;
  /** Aborts when the client goes away or the request's time is over. */
  readonly signal: AbortSignal;
  /** The same for those who only want to hear of it, which costs less. */
  readonly cancellation: Cancellation;
}

/** Of one response; further ones are left out. */
const maxTimings = 50;

/** Tells the client how long something took. `what`: without quotes. */
export function timed(context: Pick<RequestContext, 'timings'>, step: string, what: string, ms: number): void {
  context.timings ??= [];
  if (context.timings.length < maxTimings) context.timings.push(`${step};desc="${what}";dur=${Number(ms.toFixed(1))}`);
}

/** Most characters of warnings that one response carries; further ones are left out. */
const warningBudget = 4096;

/** Adds a warning once, within the budget of one response's headers. */
export function warn(context: Pick<RequestContext, 'warnings'>, text: string): void {
  if (context.warnings.includes(text)) return;
  let used = text.length;
  for (const warning of context.warnings) used += warning.length;
  if (used <= warningBudget) context.warnings.push(text);
}
