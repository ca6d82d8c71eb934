import type { Cancellation } from '#apimachinery/cancellation.js';

export interface WatchLimits {
  /** A watch without timeoutSeconds lives between this long and twice as long. */
  readonly minWatchTimeoutMs: number;
  /** Aborts when the server closes: ends all watches. */
  readonly closing: Cancellation;
}
