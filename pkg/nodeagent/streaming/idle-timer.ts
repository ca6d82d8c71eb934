/** Ends what has been silent for too long. */
import type { Clock, Timer } from '#apimachinery/clock.js';

export class IdleTimer {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #expire: () => void;
  #active: number;
  #timer: Timer | undefined;

  /** @param idleMs 0: never. */
  constructor(clock: Clock, idleMs: number, expire: () => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#expire = expire;
    this.#active = clock.monotonic();
    if (idleMs > 0) this.#arm(idleMs);
  }

  /** Something happened. Costs next to nothing, since the timer runs on and looks when it fires. */
  touch(): void {
    this.#active = this.#clock.monotonic();
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.setTimer(() => {
      const left = this.#active + this.#idleMs - this.#clock.monotonic();
      if (left <= 0) this.#expire();
      else this.#arm(left);
    }, ms);
  }
}
