/** The ends of the times of many calls, by one timer: nearly all of them end long before, and most have the same time. */
import type { Clock, Timer } from '#apimachinery/clock.js';

export interface Expiring {
  /** Monotonic ms. */
  readonly dueMs: number;
  expire(): void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #waiting = new Set<Expiring>();
  #timer: Timer | undefined;
  /** When the timer fires; it may find that nothing is due any more. */
  #timerMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` once when it is due, unless it was deleted before. */
  add(waiting: Expiring): void {
    this.#waiting.add(waiting);
    if (waiting.dueMs < this.#timerMs) this.#arm(waiting.dueMs);
  }

  delete(waiting: Expiring): void {
    this.#waiting.delete(waiting);
  }

  close(): void {
    this.#timer?.cancel();
    this.#waiting.clear();
  }

  #arm(dueMs: number): void {
    this.#timer?.cancel();
    this.#timerMs = dueMs;
    this.#timer = this.#clock.setTimer(() => this.#fire(), Math.ceil(dueMs - this.#clock.monotonic()));
  }

  #fire(): void {
    this.#timerMs = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      if (waiting.dueMs > now) {
        next = Math.min(next, waiting.dueMs);
        continue;
      }
      this.#waiting.delete(waiting);
      waiting.expire();
    }
    if (next < this.#timerMs) this.#arm(next);
  }
}
