/** Authentication metrics, named as in release 1.24. */
import type { Registry } from 'prom-client';
import { exponentialBuckets, gauge } from '#daemon/metrics/metric.js';
import {
  type CounterSeries,
  type HistogramSeries,
  PlainCounter,
  PlainHistogram,
} from '#daemon/metrics/plain-series.js';

export type AuthenticationResult = 'success' | 'failure' | 'error';

const results: readonly AuthenticationResult[] = ['success', 'failure', 'error'];

export class AuthenticationMetrics {
  readonly #users: PlainCounter;
  readonly #byResult: ReadonlyMap<AuthenticationResult, { attempts: CounterSeries; seconds: HistogramSeries }>;

  constructor(registry: Registry) {
    this.#users = new PlainCounter(registry, {
      name: 'authenticated_user_requests',
      help: '[ALPHA] Counter of authenticated requests broken out by username.',
      labelNames: ['username'],
    });
    const attempts = new PlainCounter(registry, {
      name: 'authentication_attempts',
      help: '[ALPHA] Counter of authenticated attempts.',
      labelNames: ['result'],
    });
    const seconds = new PlainHistogram(registry, {
      name: 'authentication_duration_seconds',
      help: '[ALPHA] Authentication duration in seconds broken out by result.',
      labelNames: ['result'],
      buckets: exponentialBuckets(0.001, 2, 15),
    });
    this.#byResult = new Map(
      results.map((result) => [result, { attempts: attempts.labels(result), seconds: seconds.labels(result) }]),
    );
  }

  /** `user`: the name of the authenticated user. */
  finished(result: AuthenticationResult, durationMs: number, user?: string): void {
    const series = this.#byResult.get(result);
    series?.attempts.inc();
    series?.seconds.observe(durationMs / 1000);
    if (user !== undefined) this.#users.labels(userLabel(user)).inc();
  }
}

/** The label for a user name, as in 1.24: few labels for any number of users. */
function userLabel(name: string): string {
  if (name === 'admin' || name === 'client') return name;
  return name.includes('@') ? 'email_id' : 'other';
}

export interface TokenCacheMetrics {
  /** Counts a lookup; a miss is verified by the token authenticators. */
  request(status: 'hit' | 'miss', durationMs: number): void;
  /** Counts the result of a verification. */
  fetch(status: 'ok' | 'error'): void;
  /** Changes the number of verifications in progress. */
  active(change: 1 | -1): void;
}

export function tokenCacheMetrics(registry: Registry): TokenCacheMetrics {
  const requests = new PlainCounter(registry, {
    name: 'authentication_token_cache_request_total',
    help: '[ALPHA] Tokens looked up in the cache, by hit or miss.',
    labelNames: ['status'],
  });
  const seconds = new PlainHistogram(registry, {
    name: 'authentication_token_cache_request_duration_seconds',
    help: '[ALPHA] Time to authenticate a token, by hit or miss in the cache.',
    labelNames: ['status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const fetches = new PlainCounter(registry, {
    name: 'authentication_token_cache_fetch_total',
    help: '[ALPHA] Tokens verified after a cache miss, by whether verification succeeded.',
    labelNames: ['status'],
  });
  const series = {
    hit: { count: requests.labels('hit'), seconds: seconds.labels('hit') },
    miss: { count: requests.labels('miss'), seconds: seconds.labels('miss') },
  };
  let active = 0;
  gauge(registry, {
    name: 'authentication_token_cache_active_fetch_count',
    help: '[ALPHA] Tokens that are being verified.',
    labelNames: ['status'],
    collect() {
      this.set({ status: 'in_flight' }, active);
    },
  });
  return {
    request(status, durationMs) {
      series[status].count.inc();
      series[status].seconds.observe(durationMs / 1000);
    },
    fetch: (status) => fetches.labels(status).inc(),
    active(change) {
      active += change;
    },
  };
}

/** Counts uses of tokens stored in secrets. */
export function secretTokenUses(registry: Registry): () => void {
  const uses = new PlainCounter(registry, {
    name: 'serviceaccount_legacy_tokens_total',
    help: '[ALPHA] Cumulative legacy service account tokens used',
    labelNames: [],
  }).labels();
  return () => uses.inc();
}
