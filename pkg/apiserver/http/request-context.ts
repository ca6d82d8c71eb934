/** The context of one request in the pipeline. */
import type { Duplex } from 'node:stream';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import type { VisibleNamespaces } from '#apiserver/http/visible-namespaces.js';

/** The part of a request's audit event that its stages write. */
export interface AuditTrail {
  /** Keeps the first value of a key. */
  annotate(key: string, value: string): void;
  /** True when the audit policy records this level. */
  reaches(level: 'Metadata' | 'Request' | 'RequestResponse'): boolean;
  /** Records the object that the client has sent. */
  requested(object: object): void;
  /** Records a patch or options that the client has sent. */
  requestedValue(value: unknown): void;
  /** Records that an extension API server answers the request. */
  passedOn(): void;
  /** Records the end of an upgraded connection. */
  completed(): void;
}

export interface RequestContext {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  /** Set by authentication, replaced by impersonation. */
  user: UserInfo;
  /** Present if the user may see nothing but the objects of these namespaces; only lists and watches heed it. */
  readonly visible?: VisibleNamespaces | undefined;
  /** Texts for `Warning` headers, in order, without duplicates. */
  readonly warnings: string[];
  readonly auditId: string;
  /** Monotonic time at which the request times out; absent: never. */
  readonly dueMs?: number;
  /** Parts of the `Server-Timing` header. */
  timings?: string[] | undefined;
  /** Time spent in webhooks: the sum of sequential calls, and the longest of each set of parallel calls. */
  webhookMs?: { inTurn: number; atOnce: number } | undefined;
  /** Headers of the response, whatever it is. */
  responseHeaders?: Readonly<Record<string, string>> | undefined;
  /** Called when a watch has sent its initial events; later calls do nothing. */
  initialized?: (() => void) | undefined;
  /** Connection of a request for an upgrade, which the endpoint takes over; a step before may replace it. */
  connection?: Duplex | undefined;
  /** Audit event of the request; absent: it is not recorded. */
  readonly audit?: AuditTrail | undefined;
  /** Aborts when the client disconnects or the request times out. */
  readonly signal: AbortSignal;
  /** Cancels like `signal`, but without the cost of an AbortSignal. */
  readonly cancellation: Cancellation;
}

/** Limit of timings in one response; later ones are dropped. */
const maxTimings = 50;

/** Adds a step's duration to the `Server-Timing` header. `what` must not contain quotes. */
export function timed(context: Pick<RequestContext, 'timings'>, step: string, what: string, ms: number): void {
  context.timings ??= [];
  if (context.timings.length < maxTimings) context.timings.push(`${step};desc="${what}";dur=${Number(ms.toFixed(1))}`);
}

/** Limit of the characters of warnings in one response; later warnings are dropped. */
const warningBudget = 4096;

/** Adds a warning once, within the budget. */
export function warn(context: Pick<RequestContext, 'warnings'>, text: string): void {
  if (context.warnings.includes(text)) return;
  let used = text.length;
  for (const warning of context.warnings) used += warning.length;
  if (used <= warningBudget) context.warnings.push(text);
}
