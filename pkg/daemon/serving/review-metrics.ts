/** Count and duration of token and access reviews, in release 1.24's metrics. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { counter, histogram } from '#daemon/metrics/metric.js';
import type { ReviewClient } from '#daemon/serving/user.js';

const buckets = [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10];
/** Status code of a created review. */
const created = '201';

/** Wraps the client to count its requests; returns it unchanged without metrics. */
export function countedReviews(
  client: ReviewClient,
  part: 'authn' | 'authz',
  { clock, metrics }: { readonly clock: Pick<Clock, 'monotonic'>; readonly metrics?: Registry | undefined },
): ReviewClient {
  if (metrics === undefined) return client;
  const labelNames = ['code'];
  const total = counter(metrics, {
    name: `apiserver_delegated_${part}_request_total`,
    help: '[ALPHA] Number of HTTP requests partitioned by status code.',
    labelNames,
  });
  const seconds = histogram(metrics, {
    name: `apiserver_delegated_${part}_request_duration_seconds`,
    help: '[ALPHA] Request latency in seconds. Broken down by status code.',
    labelNames,
    buckets,
  });
  return {
    async request(...request) {
      const started = clock.monotonic();
      const observe = (code: string) => {
        total.inc({ code });
        seconds.observe({ code }, (clock.monotonic() - started) / 1000);
      };
      try {
        const answer = await client.request<never>(...request);
        observe(created);
        return answer;
      } catch (error) {
        observe(String(statusOf(error)?.code ?? '<error>'));
        throw error;
      }
    },
  };
}
