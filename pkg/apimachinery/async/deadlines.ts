/**
 * The ends of the times of many calls, by one timer: nearly all of them end long before, and most have the same time.
 *
 * Why they are in an array and not in a Set: when a Set whose members come and go is made anew from time to time, V8 links
 * its old table to the new one. Once one of these tables is in the old generation, all later ones are kept with what was
 * in them: each scavenge promotes whatever calls held that are over, and full collections come a dozen times as often.
 */
import type { Clock, Timer } from '#apimachinery/clock.js';

export interface Expiring {
  /** Monotonic ms. */
  readonly dueMs: number;
  /** Where `Deadlines` has it, and for nobody else; at first -1. */
  place: number;
  expire(): void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #waiting: (Expiring | undefined)[] = [];
  /** Places that are free. */
  readonly #free: number[] = [];
  #timer: Timer | undefined;
  /** When the timer fires; it may find that nothing is due any more. */
  #timerMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` once when it is due, unless it was deleted before. */
  add(waiting: Expiring): void {
    waiting.place = this.#free.pop() ?? this.#waiting.length;
    this.#waiting[waiting.place] = waiting;
    if (waiting.dueMs < this.#timerMs) this.#arm(waiting.dueMs);
  }

  /** Idempotent. */
  delete(waiting: Expiring): void {
    const { place } = waiting;
    if (this.#waiting[place] !== waiting) return;
    this.#waiting[place] = undefined;
    this.#free.push(place);
  }

  close(): void {
    this.#timer?.cancel();
    this.#waiting.length = 0;
    this.#free.length = 0;
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
      if (waiting === undefined) continue;
      if (waiting.dueMs > now) {
        next = Math.min(next, waiting.dueMs);
        continue;
      }
      this.delete(waiting);
      waiting.expire();
    }
    if (next < this.#timerMs) this.#arm(next);
  }
}
