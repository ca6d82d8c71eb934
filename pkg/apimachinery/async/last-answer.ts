/** The last answer of somebody who may be slow, or never answer: each look asks anew, and waits only so long. */
import type { Clock } from '#apimachinery/clock.js';

export interface LastAnswerOptions<T> {
  readonly clock: Clock;
  /** How long a look waits for the answer; ms. */
  readonly waitMs: number;
  readonly ask: () => Promise<T>;
  readonly onFailure: (error: unknown) => void;
}

export class LastAnswer<T> {
  readonly #options: LastAnswerOptions<T>;
  #asking: Promise<void> | undefined;
  #last: { readonly value: T; readonly askedAt: number } | undefined;

  constructor(options: LastAnswerOptions<T>) {
    this.#options = options;
  }

  /** What was answered last; undefined: nothing yet. `askedAt`: instant of the clock that is never set (ms). */
  get last(): { readonly value: T; readonly askedAt: number } | undefined {
    return this.#last;
  }

  /** Asks, unless the last question is still open, and resolves with the last answer there is by then. Never rejects. */
  async look(): Promise<T | undefined> {
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
