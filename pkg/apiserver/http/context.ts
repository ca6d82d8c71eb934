/** One request on its way through the pipeline. */
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { ApiRequest, UserInfo } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';

export interface RequestContext {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  /** Who asks; set by the authentication step, replaced by impersonation. */
  user: UserInfo;
  /** Texts for `Warning` headers, in order, without duplicates. */
  readonly warnings: string[];
  readonly auditId: string;
  /** Aborts when the client goes away or the request's time is over. */
  readonly signal: AbortSignal;
  /** The same for those who only want to hear of it, which costs less. */
  readonly cancellation: Cancellation;
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
