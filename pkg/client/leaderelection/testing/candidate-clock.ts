/** The clock of one machine of several: set wrong, running too fast or too slow, and stopped when its process is. */
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock, Timer } from '#apimachinery/clock.js';

export interface CandidateClockOptions {
  /** True time. */
  readonly base: Clock;
  /** What the clock shows is wrong by so much. */
  readonly skewMs: number;
  /** Its seconds for each true one: near 1. */
  readonly rate: number;
}

export class CandidateClock implements Clock {
  readonly #options: CandidateClockOptions;
  /** What is due and waits for the process to go on; undefined while it runs. */
  #stopped: (() => void)[] | undefined;

  constructor(options: CandidateClockOptions) {
    this.#options = options;
  }

  now(): number {
    const { base, skewMs } = this.#options;
    return base.now() + skewMs;
  }

  /** Goes on while the process is stopped. */
  monotonic(): number {
    return this.#options.base.monotonic() * this.#options.rate;
  }

  /** Due in whole milliseconds of true time, as timers are. */
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
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        timer.cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = this.setTimer(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    });
  }

  /** Stops the process: nothing that is due happens, and no answer is read, before `goOn`. */
  stop(): void {
    this.#stopped ??= [];
  }

  goOn(): void {
    const due = this.#stopped ?? [];
    this.#stopped = undefined;
    for (const fire of due) fire();
  }
}
