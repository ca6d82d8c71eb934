/** A token bucket: `qps` per second, in bursts of `burst`. Tokens are reserved ahead, so callers queue in order. */
import type { Clock } from '#apimachinery/clock.js';

export interface TokenBucketOptions {
  /** Tokens returned per second; zero or less: no limit. */
  readonly qps: number;
  readonly burst: number;
  readonly clock: Clock;
}

export class TokenBucket {
  readonly #qps: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #tokens: number;
  #refilledAt: number;

  constructor(options: TokenBucketOptions) {
    this.#qps = options.qps;
    this.#burst = Math.max(1, options.burst);
    this.#clock = options.clock;
    this.#tokens = this.#burst;
    this.#refilledAt = options.clock.monotonic();
  }

  /** Reserves one token, possibly a future one, and returns the wait for it in milliseconds. */
  reserveMs(): number {
    if (this.#qps <= 0) return 0;
    this.#refill();
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#qps) * 1000;
  }

  /** Takes a token if one is available. */
  tryTake(): boolean {
    if (this.reserveMs() <= 0) return true;
    this.cancel();
    return false;
  }

  /** Returns the token of a caller that stopped waiting. */
  cancel(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1);
  }

  /** Resolves when a token is available; on abort, returns it and rejects with the signal's reason. */
  async take(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const waitMs = this.reserveMs();
    if (waitMs <= 0) return;
    await this.#clock.sleep(waitMs, signal);
    if (signal?.aborted) {
      this.cancel();
      signal.throwIfAborted();
    }
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#refilledAt) / 1000) * this.#qps);
    this.#refilledAt = now;
  }
}
