/** Exponential backoff with jitter. Computes delays; the caller waits. */

export interface BackoffOptions {
  /** First delay. */
  readonly initialMs: number;
  /** Maximum delay before jitter. */
  readonly maxMs: number;
  /** Growth per failure; default 2. */
  readonly factor?: number;
  /** Adds a random part of up to `jitter` times the delay; default 0. */
  readonly jitter?: number;
  /** Instead of `jitter`: lengthens or shortens each delay by a random part of up to `spread` times the delay. */
  readonly spread?: number;
  /** Returns [0, 1). Without it delays have neither jitter nor spread. */
  readonly random?: () => number;
}

/** The delay after `failures` consecutive failures (0 for the first): `initial * factor^failures`, capped. */
export function exponentialDelayMs(failures: number, initialMs: number, maxMs: number, factor = 2): number {
  const delay = initialMs * factor ** failures;
  return Number.isFinite(delay) ? Math.min(delay, maxMs) : maxMs;
}

/** `ms` plus a random part of up to `jitter` times `ms`. */
export function jittered(ms: number, jitter: number, random: () => number): number {
  return ms + random() * jitter * ms;
}

/** `ms` plus or minus a random part of up to `spread` times `ms`. */
export function spreadAround(ms: number, spread: number, random: () => number): number {
  return ms * (1 + spread * (2 * random() - 1));
}

/** Counts failures and computes the delay after each. */
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

  /** Counts a failure and returns the delay before the next attempt, in milliseconds. */
  nextMs(): number {
    const { initialMs, maxMs, factor = 2, jitter = 0, spread = 0, random } = this.#options;
    const delay = exponentialDelayMs(this.#failures, initialMs, maxMs, factor);
    this.#failures += 1;
    if (random === undefined) return delay;
    return spread > 0 ? spreadAround(delay, spread, random) : jittered(delay, jitter, random);
  }

  /** Call this after a success. */
  reset(): void {
    this.#failures = 0;
  }
}
