/** The clock of one simulated machine: it can be skewed and run too fast or too slow, and stops with its process. */
import type { Cancellation } from '#apimachinery/cancellation.js';
import { type Clock, sleepWith, type Timer } from '#apimachinery/clock.js';

export interface CandidateClockOptions {
  /** True time. */
  readonly base: Clock;
  /** Offset of the wall clock. */
  readonly skewMs: number;
  /** Clock seconds per true second: near 1. */
  readonly rate: number;
}

export class CandidateClock implements Clock {
  readonly #options: CandidateClockOptions;
  /** Callbacks that are due while the process is stopped; undefined while it runs. */
  #stopped: (() => void)[] | undefined;

  constructor(options: CandidateClockOptions) {
    this.#options = options;
  }

  now(): number {
    const { base, skewMs } = this.#options;
    return base.now() + skewMs;
  }

  /** Continues while the process is stopped. */
  monotonic(): number {
    return this.#options.base.monotonic() * this.#options.rate;
  }

  /** Rounded to whole milliseconds of true time, as real timers. */
  setTimer(fn: () => void, ms: number): Timer {
    let cancelled = false;
    const fire = () => {
      if (cancelled) return;
      if (this.#stopped === undefined) fn();
      else this.#stopped.push(fire);
    };
    const timer = this.#options.base.setTimer(fire, Math.ceil(Math.max(0, ms) / this.#options.rate));
    return {
      cancel() {
        cancelled = true;
        timer.cancel();
      },
    };
  }

  sleep(ms: number, signal?: Cancellation): Promise<void> {
    return sleepWith(this.setTimer.bind(this), ms, signal);
  }

  /** Stops the process: no timer fires and no response is read until `resume`. */
  stop(): void {
    this.#stopped ??= [];
  }

  resume(): void {
    const due = this.#stopped ?? [];
    this.#stopped = undefined;
    for (const fire of due) fire();
  }
}
