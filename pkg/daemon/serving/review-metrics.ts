/** How often and how long the API server is asked who somebody is and what they may do, in the series of release 1.24. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { counter, histogram } from '#daemon/metrics/metric.js';
import type { ReviewClient } from '#daemon/serving/user.js';

const buckets = [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10];
/** What the API server answers to a review that it has made. */
const created = '201';

/** The client with its requests counted; by itself where there is nothing to count in. */
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
