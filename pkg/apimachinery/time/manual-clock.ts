/**
 * A clock that stands still until it is moved. Moving it fires the timers that become due, in their order, and lets the
 * work that each one starts finish before the next, so that consequences of a timer happen at their own time.
 */
import type { Cancellation } from '#apimachinery/cancellation.js';
import { type Clock, type ClockViews, sleepWith, type Timer } from '#apimachinery/clock.js';
import { KeyedHeap } from '#apimachinery/collections/keyed-heap.js';

interface Pending {
  readonly dueMs: number;
  /** Timers due at the same time fire in the order in which they were set. */
  readonly sequence: number;
  readonly fn: () => void;
}

type TimerHeap = KeyedHeap<Pending, Pending>;

function timerHeap(): TimerHeap {
  return new KeyedHeap<Pending, Pending>({
    keyOf: (pending) => pending,
    before: (a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence),
  });
}

/** Longest rest that counts as a pause; longer ones are upkeep. */
export const maxPauseMs = 1000;

export interface ManualClockOptions {
  /** The wall clock's first time; ms since 1970. */
  readonly startMs: number;
  /**
   * The process's time: the clock has views (`ClockViews`), and runs with this one until `hold` is called. Absent: the clock
   * stands still from the start, and all its timers are equal.
   */
  readonly process?: Clock;
}

/** Finishes the work that is possible at this time. */
export type Work = () => Promise<void>;

export class ManualClock implements Clock {
  readonly views: ClockViews | undefined;
  readonly #startMs: number;
  readonly #process: Clock | undefined;
  /**
   * Measured from the start, since milliseconds since 1970 are too large to hold small fractions: a timer could fire
   * before the time it was computed from.
   */
  #elapsedMs = 0;
  /** Offset of the wall clock. */
  #setMs = 0;
  #sequence = 0;
  readonly #deadlines = timerHeap();
  readonly #upkeep = timerHeap();
  readonly #reports = timerHeap();
  readonly #watchdogs = timerHeap();
  /** Pauses, each with its timer in the process's time, in the order in which they were set. */
  readonly #pauses = new Map<Pending, Timer>();
  /** While the clock runs: when it was started, in the process's time, and the timer of the next due time. */
  #run: { readonly fromMs: number; readonly sinceMs: number; timer: Timer | undefined } | undefined;
  #heartbeatsContinue: () => boolean = () => true;

  constructor({ startMs, process }: ManualClockOptions) {
    this.#startMs = startMs;
    this.#process = process;
    if (process === undefined) return;
    this.views = {
      process,
      pauses: this.#view((fn, ms) =>
        ms <= maxPauseMs ? this.#pause(process, fn, ms) : this.#add(this.#upkeep, fn, ms),
      ),
      upkeep: this.#view((fn, ms) => this.#add(this.#upkeep, fn, ms)),
      reports: this.#view((fn, ms) => this.#add(this.#reports, fn, ms)),
      watchdogs: this.#view((fn, ms) => this.#add(this.#watchdogs, fn, ms)),
    };
    this.resume();
  }

  now(): number {
    return this.#startMs + this.monotonic() + this.#setMs;
  }

  monotonic(): number {
    const run = this.#run;
    return run === undefined || this.#process === undefined
      ? this.#elapsedMs
      : Math.max(this.#elapsedMs, run.fromMs + this.#process.monotonic() - run.sinceMs);
  }

  /** Moves the wall clock forward or back; no time passes, so timers are unaffected. */
  setWallClock(byMs: number): void {
    this.#setMs += byMs;
  }

  /** Number of timers that are set and have not fired. */
  get pendingTimers(): number {
    return this.#deadlines.size + this.#upkeep.size + this.#reports.size + this.#watchdogs.size + this.#pauses.size;
  }

  /** Number of pauses that are not over. */
  get pendingPauses(): number {
    return this.#pauses.size;
  }

  /** True until `hold`, and after `resume`. */
  get runs(): boolean {
    return this.#run !== undefined;
  }

  /** Milliseconds until the next timer at which a move of the clock would stop; undefined if there is none. */
  get nextStopMs(): number | undefined {
    const dueMs = this.#nextStop(Number.POSITIVE_INFINITY);
    return dueMs === undefined ? undefined : Math.max(0, dueMs - this.monotonic());
  }

  /** Sets what tells whether all heartbeats continue; see `ClockViews.watchdogs`. */
  watchHeartbeats(continues: () => boolean): void {
    this.#heartbeatsContinue = continues;
  }

  setTimer(fn: () => void, ms: number): Timer {
    // What is due at once needs no move of the clock.
    if (ms <= 0 && this.#process !== undefined) return this.#pause(this.#process, fn, 0);
    return this.#add(this.#deadlines, fn, ms);
  }

  sleep(ms: number, signal?: Cancellation): Promise<void> {
    return sleepWith((fn, delayMs) => this.setTimer(fn, delayMs), ms, signal);
  }

  /** Runs with the process's time. Does nothing on a clock without it. */
  resume(): void {
    const process = this.#process;
    if (process === undefined || this.#run !== undefined) return;
    this.#run = { fromMs: this.#elapsedMs, sinceMs: process.monotonic(), timer: undefined };
    this.#arm();
  }

  /** Stands still from now on, at the next whole second of its wall clock. */
  hold(): void {
    if (this.#run === undefined) return;
    this.#elapsedMs = this.monotonic();
    this.#run.timer?.cancel();
    this.#run = undefined;
    const now = this.now();
    this.setWallClock(Math.ceil(now / 1000) * 1000 - now);
  }

  /** Ends the pause that is due first, without waiting for it. False if there is none. */
  endPause(): boolean {
    let first: Pending | undefined;
    for (const pending of this.#pauses.keys()) if (first === undefined || pending.dueMs < first.dueMs) first = pending;
    if (first === undefined) return false;
    this.#pauses.get(first)?.cancel();
    this.#pauses.delete(first);
    first.fn();
    return true;
  }

  /**
   * Moves the clock forward, firing each timer at its time. `work` runs before the first timer and after each one.
   * `isOver`: ends the move before its next stop. Returns the number of stops.
   */
  async advance(ms: number, work: Work, isOver: () => boolean = () => false): Promise<number> {
    if (this.#run !== undefined) throw new Error('the clock runs by itself');
    const endMs = this.#elapsedMs + ms;
    let stops = 0;
    await work();
    for (let dueMs = this.#nextStop(endMs); dueMs !== undefined; dueMs = this.#nextStop(endMs)) {
      if (isOver()) return stops;
      await this.#reach(dueMs, work, [this.#upkeep, this.#watchdogs]);
      await this.#fireFirst(work);
      stops += 1;
    }
    if (isOver()) return stops;
    await this.#reach(endMs, work, [this.#upkeep, this.#reports, this.#watchdogs]);
    await work();
    return stops;
  }

  #nextStop(endMs: number): number | undefined {
    let dueMs = this.#deadlines.peek()?.dueMs ?? Number.POSITIVE_INFINITY;
    const watchdogMs = this.#watchdogs.peek()?.dueMs;
    if (watchdogMs !== undefined && watchdogMs < dueMs && !this.#heartbeatsContinue()) dueMs = watchdogMs;
    return dueMs <= endMs && dueMs < Number.POSITIVE_INFINITY ? dueMs : undefined;
  }

  /** Goes there, and does the upkeep that was due on the way: heartbeats before those that watch them. */
  async #reach(atMs: number, work: Work, heaps: readonly TimerHeap[]): Promise<void> {
    this.#elapsedMs = Math.max(this.#elapsedMs, atMs);
    for (const heap of heaps) if (this.#fireDue(heap)) await work();
  }

  async #fireFirst(work: Work): Promise<void> {
    const first = this.#deadlines.peek();
    if (first === undefined || first.dueMs > this.#elapsedMs) return;
    this.#deadlines.pop();
    first.fn();
    await work();
  }

  /** Fires what is due now, but no timer that this sets. False if nothing is due. */
  #fireDue(heap: TimerHeap): boolean {
    const limit = this.#sequence;
    const isDue = (first: Pending | undefined): first is Pending =>
      first !== undefined && first.dueMs <= this.#elapsedMs && first.sequence < limit;
    let fired = false;
    for (let first = heap.peek(); isDue(first); first = heap.peek()) {
      heap.pop();
      first.fn();
      fired = true;
    }
    return fired;
  }

  #pending(fn: () => void, ms: number): Pending {
    const pending = { dueMs: this.monotonic() + Math.max(0, ms), sequence: this.#sequence, fn };
    this.#sequence += 1;
    return pending;
  }

  #add(heap: TimerHeap, fn: () => void, ms: number): Timer {
    const pending = this.#pending(fn, ms);
    heap.push(pending);
    if (heap.peek() === pending) this.#arm();
    return { cancel: () => void heap.remove(pending) };
  }

  #pause(process: Clock, fn: () => void, ms: number): Timer {
    const pending = this.#pending(fn, ms);
    const over = () => {
      if (this.#pauses.delete(pending)) fn();
    };
    this.#pauses.set(pending, process.setTimer(over, ms));
    return {
      cancel: () => {
        this.#pauses.get(pending)?.cancel();
        this.#pauses.delete(pending);
      },
    };
  }

  get #heaps(): readonly TimerHeap[] {
    return [this.#deadlines, this.#upkeep, this.#reports, this.#watchdogs];
  }

  #view(setTimer: Clock['setTimer']): Clock {
    const views = () => this.views;
    return {
      get views() {
        return views();
      },
      now: () => this.now(),
      monotonic: () => this.monotonic(),
      setTimer,
      sleep: (ms, signal) => sleepWith(setTimer, ms, signal),
    };
  }

  /** While the clock runs: sets the process's timer for the first due time. */
  #arm(): void {
    const run = this.#run;
    const process = this.#process;
    if (run === undefined || process === undefined) return;
    run.timer?.cancel();
    const dueMs = Math.min(...this.#heaps.map((heap) => heap.peek()?.dueMs ?? Number.POSITIVE_INFINITY));
    if (dueMs === Number.POSITIVE_INFINITY) return;
    run.timer = process.setTimer(() => this.#fireRunning(), dueMs - this.monotonic());
  }

  #fireRunning(): void {
    const nowMs = this.monotonic();
    for (;;) {
      const heap = this.#heaps
        .filter((each) => (each.peek()?.dueMs ?? Number.POSITIVE_INFINITY) <= nowMs)
        .sort((a, b) => (a.peek()?.dueMs ?? 0) - (b.peek()?.dueMs ?? 0))[0];
      const first = heap?.pop();
      if (first === undefined) break;
      first.fn();
    }
    this.#arm();
  }
}
