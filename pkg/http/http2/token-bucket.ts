/** Lets so many through at once, and so many more each second. Time comes in with each. */
export interface TokenBucketOptions {
  readonly burst: number;
  readonly perSecond: number;
}

export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #sinceMs: number | undefined;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.burst;
  }

  /** Takes one; false when there is none. `nowMs`: of a clock that does not go back, asked only when it matters. */
  take(nowMs: () => number): boolean {
    if (this.#tokens < 1) this.#refill(nowMs());
    else this.#sinceMs ??= nowMs();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #refill(nowMs: number): void {
    const { burst, perSecond } = this.#options;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - (this.#sinceMs ?? nowMs)) / 1000) * perSecond);
    this.#sinceMs = nowMs;
  }
}
