/** Exponential back-off with jitter. Pure arithmetic plus one small counter; waiting is the caller's. */

export interface BackoffOptions {
  /** First delay. */
  readonly initialMs: number;
  /** No delay is longer than this before jitter. */
  readonly maxMs: number;
  /** Growth from one failure to the next; 2 unless told. */
  readonly factor?: number;
  /** Each delay is lengthened by a random part of up to `jitter` times itself; 0 unless told. */
  readonly jitter?: number;
  /** Instead of `jitter`: each delay is made longer or shorter by a random part of up to `spread` times itself. */
  readonly spread?: number;
  /** Returns [0, 1). Without it delays are neither jittered nor spread. */
  readonly random?: () => number;
}

/** The delay after `failures` failures in a row (0 for the first): `initial * factor^failures`, capped. */
export function exponentialDelayMs(failures: number, initialMs: number, maxMs: number, factor = 2): number {
  const delay = initialMs * factor ** failures;
  return Number.isFinite(delay) ? Math.min(delay, maxMs) : maxMs;
}

/** `ms` lengthened by a random part of up to `jitter` times itself. */
export function jittered(ms: number, jitter: number, random: () => number): number {
  return ms + random() * jitter * ms;
}

/** `ms` made longer or shorter by a random part of up to `spread` times itself. */
export function spreadAround(ms: number, spread: number, random: () => number): number {
  return ms * (1 + spread * (2 * random() - 1));
}

/** Counts failures and says how long to wait after each. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Failures since the last reset. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts one failure and returns the delay before the next attempt, in milliseconds. */
  nextMs(): number {
    const { initialMs, maxMs, factor = 2, jitter = 0, spread = 0, random } = this.#options;
    const delay = exponentialDelayMs(this.#failures, initialMs, maxMs, factor);
    this.#failures += 1;
    if (random === undefined) return delay;
    return spread > 0 ? spreadAround(delay, spread, random) : jittered(delay, jitter, random);
  }

  /** To be called after a success. */
  reset(): void {
    this.#failures = 0;
  }
}
