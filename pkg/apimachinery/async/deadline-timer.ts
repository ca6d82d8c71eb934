/**
 * One timer for the deadlines of many calls: nearly all calls end early, and most have the same timeout.
 *  The entries are in an array rather than a Set. V8 links the old hash table of a rehashed Set to the new one; once
 *  one of them is in the old generation, it keeps all later tables and their entries alive. Each scavenge then promotes
 *  finished calls, and full collections become a dozen times as frequent.
 */
import type { Clock, Timer } from '#apimachinery/clock.js';

export interface Expiring {
  /** Monotonic time in ms. */
  readonly dueMs: number;
  /** The index in `DeadlineTimer`, which owns this field; initially -1. */
  place: number;
  expire(): void;
}

export class DeadlineTimer {
  readonly #clock: Clock;
  readonly #waiting: (Expiring | undefined)[] = [];
  /** Free indexes. */
  readonly #free: number[] = [];
  #timer: Timer | undefined;
  /** The time when the timer fires; by then its entry may have been deleted. */
  #timerMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` once at its due time, unless it is deleted before. */
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
