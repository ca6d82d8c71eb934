export interface WatchLimits {
  /** A watch without timeoutSeconds lives between this long and twice as long. */
  readonly minWatchTimeoutMs: number;
  /** A client of a watch that takes nothing for so long is cut off. */
  readonly stallMs: number;
  /** Aborts when the server closes: ends all watches. */
  readonly closing: AbortSignal;
}
