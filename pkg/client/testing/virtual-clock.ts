/** A clock that moves only when the test advances it. */
import { createHook } from 'node:async_hooks';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock, Timer } from '#apimachinery/clock.js';

interface Pending {
  readonly dueMs: number;
  /** Timers due at the same time fire in the order in which they were set. */
  readonly sequence: number;
  readonly fn: () => void;
}

/** Runs everything that is ready: promise jobs, and callbacks of this process's sockets and streams. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Node.js's names for reads, writes and similar file operations, and for closing a file. */
const isFileWork = (type: string): boolean => type.startsWith('FSREQ') || type === 'FILEHANDLECLOSEREQ';

/** File operations in progress; `process.getActiveResourcesInfo` does not list all of them. */
const fileWork = new Set<number>();
createHook({
  init(id, type) {
    if (isFileWork(type)) fileWork.add(id);
  },
  after(id) {
    fileWork.delete(id);
  },
}).enable();

/** Waits for real file operations, so that they take no virtual time however slow the machine is. */
async function finishFileWork(): Promise<void> {
  do await eventLoopTurn();
  while (fileWork.size > 0);
}

export class VirtualClock implements Clock {
  readonly #startMs: number;
  /**
   * Measured from the start, since milliseconds since 1970 are too large to hold small fractions: a timer could fire
   * before the time it was computed from.
   */
  #elapsedMs = 0;
  /** Offset of the wall clock. */
  #setMs = 0;
  #sequence = 0;
  #pending: Pending[] = [];

  /** `startMs`: the start time; default: 2022-05-03T00:00:00Z. */
  constructor(startMs = 1_651_536_000_000) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#elapsedMs + this.#setMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  /** Moves the wall clock forward or back; no time passes, so timers are unaffected. */
  setWallClock(byMs: number): void {
    this.#setMs += byMs;
  }

  /** Number of timers that are set and have not fired. */
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
      const finish = () => {
        timer.cancel();
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const timer = this.setTimer(finish, ms);
      signal?.addEventListener('abort', finish, { once: true });
    });
  }

  /** Advances time, firing each timer at its time; work that it starts runs before the next timer. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#elapsedMs + ms;
    await finishFileWork();
    for (let next = this.#first(endMs); next !== undefined; next = this.#first(endMs)) {
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      this.#pending = this.#pending.filter((other) => other !== next);
      next.fn();
      await finishFileWork();
    }
    this.#elapsedMs = endMs;
    await finishFileWork();
  }

  /** Advances from timer to timer until `condition` holds; throws after `maxMs` of virtual time. */
  async advanceUntil(condition: () => boolean, maxMs = 3_600_000): Promise<void> {
    const endMs = this.#elapsedMs + maxMs;
    await finishFileWork();
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
