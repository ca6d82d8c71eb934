/** Tells of a client that takes nothing of what it is sent. */
import type { Clock, Timer } from '#apimachinery/clock.js';

export interface PatienceOptions {
  readonly clock: Clock;
  /** Longest wait. */
  readonly stallMs: number;
  /** Called once a wait has lasted so long. */
  readonly over: () => void;
}

/** One timer for many waits, of which nearly all are short. */
export class Patience {
  readonly #options: PatienceOptions;
  /** Monotonic ms; undefined while nobody waits. */
  #sinceMs: number | undefined;
  #timer: Timer | undefined;

  constructor(options: PatienceOptions) {
    this.#options = options;
  }

  begin(): void {
    const { clock, stallMs } = this.#options;
    this.#sinceMs = clock.monotonic();
    this.#timer ??= clock.setTimer(this.#look, stallMs);
  }

  end(): void {
    this.#sinceMs = undefined;
  }

  /** It is not asked any more. */
  close(): void {
    this.#timer?.cancel();
  }

  /** Looks again later when the present wait has begun only since the last look. */
  readonly #look = (): void => {
    const { clock, stallMs, over } = this.#options;
    this.#timer = undefined;
    if (this.#sinceMs === undefined) return;
    const leftMs = this.#sinceMs + stallMs - clock.monotonic();
    if (leftMs > 0) this.#timer = clock.setTimer(this.#look, leftMs);
    else over();
  };
}
