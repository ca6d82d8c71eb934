/** A clock that stands still until it is told to move. */
import { createHook } from 'node:async_hooks';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock, Timer } from '#apimachinery/clock.js';

interface Pending {
  readonly dueMs: number;
  /** Timers due at the same instant fire in the order in which they were set. */
  readonly sequence: number;
  readonly fn: () => void;
}

/** Lets everything that is ready run: promise jobs, and callbacks of sockets and streams of this process. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** As Node.js names reads, writes and the like, and the closing of a file. */
const isFileWork = (type: string): boolean => type.startsWith('FSREQ') || type === 'FILEHANDLECLOSEREQ';

/** What is under way on files of this process; `process.getActiveResourcesInfo` does not know all of it. */
const fileWork = new Set<number>();
createHook({
  init(id, type) {
    if (isFileWork(type)) fileWork.add(id);
  },
  after(id) {
    fileWork.delete(id);
  },
}).enable();

/** Work on real files takes no virtual time, however slow the machine is: it ends before the clock moves on. */
async function fileWorkDone(): Promise<void> {
  do await eventLoopTurn();
  while (fileWork.size > 0);
}

export class VirtualClock implements Clock {
  readonly #startMs: number;
  /**
   * Since the start, for instants since 1970 are too large to hold small fractions of a millisecond: a timer would be due
   * before the instant that it was computed from.
   */
  #elapsedMs = 0;
  /** What the wall clock was set forward. */
  #setMs = 0;
  #sequence = 0;
  #pending: Pending[] = [];

  /** `startMs`: the first instant; 2022-05-03T00:00:00Z unless told. */
  constructor(startMs = 1_651_536_000_000) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#elapsedMs + this.#setMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
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
    const pending = { dueMs: this.#elapsedMs + Math.max(0, ms), sequence: this.#sequence, fn };
    this.#sequence += 1;
    this.#pending.push(pending);
    return {
      cancel: () => {
        this.#pending = this.#pending.filter((other) => other !== pending);
      },
    };
  }

  sleep(ms: number, signal?: Cancellation): Promise<void> {
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
    const endMs = this.#elapsedMs + ms;
    await fileWorkDone();
    for (let next = this.#first(endMs); next !== undefined; next = this.#first(endMs)) {
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      this.#pending = this.#pending.filter((other) => other !== next);
      next.fn();
      await fileWorkDone();
    }
    this.#elapsedMs = endMs;
    await fileWorkDone();
  }

  /** Moves from timer to timer until `condition` holds; throws when it does not within `maxMs` of virtual time. */
  async advanceUntil(condition: () => boolean, maxMs = 3_600_000): Promise<void> {
    const endMs = this.#elapsedMs + maxMs;
    await fileWorkDone();
    while (!condition()) {
      const next = this.#first(endMs);
      if (next === undefined) throw new Error(`condition still false after ${maxMs} ms of virtual time`);
      await this.advance(next.dueMs - this.#elapsedMs);
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
