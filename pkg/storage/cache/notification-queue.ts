/**
 * Notifies many who wait for the same thing in several turns of the event loop, so that it is not held by all at once.
 *
 * Those who are notified together are a round. Whoever has news while a round lasts comes in the next one, with all that
 * has happened to it by then, and a round of many is followed by a rest: what comes for many many times a second reaches
 * each of them several events at a time, which costs hardly more than one. A few are always notified at once.
 */
import type { Clock } from '#apimachinery/clock.js';

/** Those notified in one turn: what each of them does takes some tens of microseconds. */
const batchSize = 64;
/** A round of many is followed by a rest so many times as long as the round was, but no longer than that. */
const restFactor = 2;
const maxRestMs = 20;

type Notify = () => void;

export class NotificationQueue {
  readonly #clock: Clock;
  /** Those of the present round, up to `#next` notified. */
  #round: Notify[] = [];
  #next = 0;
  #later: Notify[] = [];
  /** In the present turn. */
  #notified = 0;
  #gathering = 0;
  #running = false;
  /** A turn is to come, or the end of a rest. */
  #waiting = false;
  #resting = false;
  /** When the present round needed a second turn. */
  #startMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `notify` now, or in one of the next turns after those that came before; never before `gather` is over. */
  add(notify: Notify): void {
    this.#later.push(notify);
    if (this.#gathering === 0) this.#go();
  }

  /** Those who have news several times during `work` are notified once, behind it. */
  gather(work: () => void): void {
    this.#gathering++;
    try {
      work();
    } finally {
      this.#gathering--;
    }
    if (this.#gathering === 0 && this.#later.length > 0) this.#go();
  }

  #go(): void {
    if (this.#running || this.#resting) return;
    this.#running = true;
    while (this.#notified < batchSize && !this.#resting) {
      if (this.#next === this.#round.length && !this.#begin()) break;
      this.#notified++;
      // By its number: whoever is notified may have others notified.
      (this.#round[this.#next++] as Notify)();
    }
    this.#running = false;
    if (this.#waiting || this.#notified === 0) return;
    this.#waiting = true;
    setImmediate(this.#nextTurn);
  }

  /** Begins the next round; false when nobody waits, or has to wait a little longer. */
  #begin(): boolean {
    const restMs =
      this.#startMs === undefined ? 0 : Math.min(maxRestMs, restFactor * (this.#clock.monotonic() - this.#startMs));
    this.#startMs = undefined;
    this.#next = 0;
    this.#round = [];
    // A timer takes a millisecond at least.
    if (restMs >= 1) {
      this.#resting = true;
      this.#clock.setTimer(this.#rested, restMs);
      return false;
    }
    if (this.#later.length === 0) return false;
    this.#round = this.#later;
    this.#later = [];
    return true;
  }

  readonly #nextTurn = (): void => {
    this.#waiting = false;
    this.#notified = 0;
    if (this.#next < this.#round.length) this.#startMs ??= this.#clock.monotonic();
    this.#go();
  };

  readonly #rested = (): void => {
    this.#resting = false;
    this.#go();
  };
}
