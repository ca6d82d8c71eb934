/** How long a failed item waits before its next attempt. */

import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import { type Clock, processClock } from '#apimachinery/clock.js';
import { TokenBucket } from '#client/token-bucket.js';

export interface RateLimiter<K> {
  /** Counts an attempt of the item and returns the delay before it; ms. */
  whenMs(item: K): number;
  /** Resets the item's history after success or giving up. */
  forget(item: K): void;
  /** Attempts since the last `forget`. */
  requeues(item: K): number;
}

/** `baseMs * 2^failures` per item, capped at `maxMs`. */
export class ItemExponentialRateLimiter<K> implements RateLimiter<K> {
  readonly #failures = new Map<K, number>();
  readonly #baseMs: number;
  readonly #maxMs: number;

  constructor(baseMs: number, maxMs: number) {
    this.#baseMs = baseMs;
    this.#maxMs = maxMs;
  }

  whenMs(item: K): number {
    const failures = this.#failures.get(item) ?? 0;
    this.#failures.set(item, failures + 1);
    return exponentialDelayMs(failures, this.#baseMs, this.#maxMs);
  }

  forget(item: K): void {
    this.#failures.delete(item);
  }

  requeues(item: K): number {
    return this.#failures.get(item) ?? 0;
  }
}

/** One bucket for all items, so that many failing items do not flood the API server. */
class BucketRateLimiter<K> implements RateLimiter<K> {
  readonly #bucket: TokenBucket;

  constructor(bucket: TokenBucket) {
    this.#bucket = bucket;
  }

  whenMs(_item: K): number {
    return this.#bucket.reserveMs();
  }

  forget(_item: K): void {}

  requeues(_item: K): number {
    return 0;
  }
}

/** The longest delay of several limiters. */
class MaxOfRateLimiter<K> implements RateLimiter<K> {
  readonly #limiters: readonly RateLimiter<K>[];

  constructor(limiters: readonly RateLimiter<K>[]) {
    this.#limiters = limiters;
  }

  whenMs(item: K): number {
    return Math.max(0, ...this.#limiters.map((limiter) => limiter.whenMs(item)));
  }

  forget(item: K): void {
    for (const limiter of this.#limiters) limiter.forget(item);
  }

  requeues(item: K): number {
    return Math.max(0, ...this.#limiters.map((limiter) => limiter.requeues(item)));
  }
}

/**
 * The limiter of controllers: 5 ms (or `baseMs`) to 1000 s per item, and 10 per second with a burst of 100 over all
 * (DefaultControllerRateLimiter in client-go 1.24).
 */
export function defaultControllerRateLimiter<K>(clock: Clock, baseMs = 5): RateLimiter<K> {
  return new MaxOfRateLimiter<K>([
    new ItemExponentialRateLimiter<K>(baseMs, 1_000_000),
    new BucketRateLimiter<K>(new TokenBucket({ qps: 10, burst: 100, clock: processClock(clock) })),
  ]);
}
