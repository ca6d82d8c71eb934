/**
 * The latest value of a source that may be slow or hang: each refresh queries it, and waits only for a limited time.
 */
import type { Clock } from '#apimachinery/clock.js';

export interface LatestValueOptions<T> {
  readonly clock: Clock;
  /** Maximum wait of a refresh; ms. */
  readonly waitMs: number;
  readonly ask: () => Promise<T>;
  readonly onFailure: (error: unknown) => void;
}

export class LatestValue<T> {
  readonly #options: LatestValueOptions<T>;
  #asking: Promise<void> | undefined;
  #last: { readonly value: T; readonly askedAt: number } | undefined;

  constructor(options: LatestValueOptions<T>) {
    this.#options = options;
  }

  /** The latest value; undefined before the first answer. `askedAt`: monotonic time of the query (ms). */
  get last(): { readonly value: T; readonly askedAt: number } | undefined {
    return this.#last;
  }

  /**
   * Queries the source, unless a query is still open, and resolves with the latest value after the wait. Never rejects.
   */
  async refresh(): Promise<T | undefined> {
    const { clock, waitMs } = this.#options;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    const over = new AbortController();
    await Promise.race([this.#asking, clock.sleep(waitMs, over.signal)]);
    over.abort();
    return this.#last?.value;
  }

  async #ask(): Promise<void> {
    const { clock, ask, onFailure } = this.#options;
    const askedAt = clock.monotonic();
    try {
      this.#last = { value: await ask(), askedAt };
    } catch (error) {
      onFailure(error);
    }
  }
}
