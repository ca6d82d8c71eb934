/** The metrics of API clients, named as in release 1.24. */
import type { Registry } from 'prom-client';
import { counter, histogram } from '#daemon/metrics/metric.js';

export interface RequestMetrics {
  /** `code`: the HTTP status, or `<error>` without a response. */
  finished(verb: string, method: string, code: string, durationMs: number): void;
  waited(verb: string, waitedMs: number): void;
}

export const noRequestMetrics: RequestMetrics = { finished() {}, waited() {} };

const durationBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** `host`: value of the host label. */
export function requestMetrics(registry: Registry, host: string): RequestMetrics {
  const requests = counter(registry, {
    name: 'rest_client_requests_total',
    help: '[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.',
    labelNames: ['code', 'host', 'method'],
  });
  const durations = histogram(registry, {
    name: 'rest_client_request_duration_seconds',
    help: '[ALPHA] Request latency in seconds. Broken down by verb, and host.',
    labelNames: ['host', 'verb'],
    buckets: durationBuckets,
  });
  const waits = histogram(registry, {
    name: 'rest_client_rate_limiter_duration_seconds',
    help: '[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.',
    labelNames: ['host', 'verb'],
    buckets: durationBuckets,
  });
  return {
    finished(verb, method, code, durationMs) {
      requests.inc({ code, host, method });
      durations.observe({ host, verb }, durationMs / 1000);
    },
    waited: (verb, waitedMs) => waits.observe({ host, verb }, waitedMs / 1000),
  };
}
