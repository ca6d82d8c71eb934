/** A clock that stands still until it is told to move. */
import type { Clock, Timer } from '#apimachinery/clock.js';

interface Pending {
  readonly dueMs: number;
  /** Timers due at the same instant fire in the order in which they were set. */
  readonly sequence: number;
  readonly fn: () => void;
}

/** Lets everything that is ready run: promise jobs, and callbacks of sockets and streams of this process. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** As Node.js names what is under way: reads, writes and the like, and the closing of a file. */
const isFileWork = (name: string): boolean => name.startsWith('FSReq') || name === 'CloseReq';

/** Work on real files takes no virtual time, however slow the machine is: it ends before the clock moves on. */
async function settleFiles(): Promise<void> {
  do await settle();
  while (process.getActiveResourcesInfo().some(isFileWork));
}

export class VirtualClock implements Clock {
  readonly #startMs: number;
  #nowMs: number;
  /** What the wall clock was set forward. */
  #setMs = 0;
  #sequence = 0;
  #pending: Pending[] = [];

  /** `startMs`: the first instant; 2022-05-03T00:00:00Z unless told. */
  constructor(startMs = 1_651_536_000_000) {
    this.#startMs = startMs;
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs + this.#setMs;
  }

  monotonic(): number {
    return this.#nowMs - this.#startMs;
  }

  /** Sets the wall clock forward, or back; no time passes, and timers stay due when they were. */
  setWallClock(byMs: number): void {
    this.#setMs += byMs;
  }

  /** Timers that have been set and neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#pending.length;
  }

  setTimer(fn: () => void, ms: number): Timer {
    const pending = { dueMs: this.#nowMs + Math.max(0, ms), sequence: this.#sequence, fn };
    this.#sequence += 1;
    this.#pending.push(pending);
    return {
      cancel: () => {
        this.#pending = this.#pending.filter((other) => other !== pending);
      },
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const done = () => {
        timer.cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = this.setTimer(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    });
  }

  /** Moves time forward, firing each timer at its instant and letting what it started run before the next. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settleFiles();
    for (let next = this.#first(endMs); next !== undefined; next = this.#first(endMs)) {
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      this.#pending = this.#pending.filter((other) => other !== next);
      next.fn();
      await settleFiles();
    }
    this.#nowMs = endMs;
    await settleFiles();
  }

  /** Moves from timer to timer until `condition` holds; throws when it does not within `maxMs` of virtual time. */
  async advanceUntil(condition: () => boolean, maxMs = 3_600_000): Promise<void> {
    const endMs = this.#nowMs + maxMs;
    await settleFiles();
    while (!condition()) {
      const next = this.#first(endMs);
      if (next === undefined) throw new Error(`condition still false after ${maxMs} ms of virtual time`);
      await this.advance(next.dueMs - this.#nowMs);
    }
  }

  #first(endMs: number): Pending | undefined {
    let first: Pending | undefined;
    for (const pending of this.#pending) {
      if (pending.dueMs > endMs) continue;
      if (
        first === undefined ||
        pending.dueMs < first.dueMs ||
        (pending.dueMs === first.dueMs && pending.sequence < first.sequence)
      ) {
        first = pending;
      }
    }
    return first;
  }
}
