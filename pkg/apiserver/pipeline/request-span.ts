/** The span of a request, from its head to the head of its response. */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import { splitURL } from '#apiserver/http/request-info.js';
import type { SpanOutcome, Tracer } from '#daemon/tracing/tracer.js';

interface Tracing {
  readonly tracer: Tracer;
  readonly dialect: Dialect;
}

/** The attributes follow OpenTelemetry's HTTP conventions of release 1.24's time. */
export function traced(
  { tracer, dialect }: Tracing,
  { method, url, headers }: ApiRequest,
  work: () => MaybePromise<ApiResponse>,
): MaybePromise<ApiResponse> {
  const span = {
    // `KubernetesAPI` in the release.
    name: `${dialect.displayName}API`,
    // Omit the query: the query of `exec` contains commands.
    attributes: { 'http.method': method, 'http.target': splitURL(url).path },
    traceparent: headers['traceparent'],
  };
  return tracer.serve(span, work, outcomeOf);
}

function outcomeOf({ status, headers }: ApiResponse): SpanOutcome {
  return {
    attributes: { 'http.status_code': status, 'audit-id': headers['audit-id'] ?? '' },
    failed: status >= 500,
  };
}
