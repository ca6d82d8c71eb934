/** The source of time: tests replace it by a virtual clock. All instants and durations are milliseconds. */
import type { Cancellation } from '#apimachinery/cancellation.js';

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never go backwards, for measuring durations only. */
  monotonic(): number;
  /** Calls `fn` once after `ms`; a negative delay counts as zero. The timer does not keep the process alive. */
  setTimer(fn: () => void, ms: number): Timer;
  /** Resolves after `ms`, or without an error as soon as `signal` aborts. */
  sleep(ms: number, signal?: Cancellation): Promise<void>;
  /** Present on a clock that is moved by hand; absent where all time is one. */
  readonly views?: ClockViews | undefined;
}

/**
 * Times beside the cluster's own, for a cluster whose clock is moved by hand. Code reads them by the functions below, which
 * return the clock itself where all time is one.
 */
export interface ClockViews {
  /** The time of this process: limits of connections and requests, validity of certificates, durations in metrics. */
  readonly process: Clock;
  /**
   * Short rests that only spare the machine: before a quick retry, or until a burst of events is over. They pass with the
   * process's time, and at once when nothing else is left to do. Rests of more than a second are `upkeep`.
   */
  readonly pauses: Clock;
  /**
   * Periods of work that is repeated without a change of its own: heartbeats, resyncs, searches for leftovers. A clock that
   * leaps over several periods runs it once, at the end of the leap and before everything else.
   */
  readonly upkeep: Clock;
  /** Like `upkeep`, for reports that only repeat themselves: run at the end of a move of the clock, not at its stops. */
  readonly reports: Clock;
  /** Limits of how long a heartbeat may be absent. While all heartbeats continue, a leap may pass them. */
  readonly watchdogs: Clock;
}

/** See `ClockViews.process`. */
export const processClock = (clock: Clock): Clock => clock.views?.process ?? clock;
/** See `ClockViews.pauses`. */
export const pauseClock = (clock: Clock): Clock => clock.views?.pauses ?? clock;
/** See `ClockViews.upkeep`. */
export const upkeepClock = (clock: Clock): Clock => clock.views?.upkeep ?? clock;
/** See `ClockViews.reports`. */
export const reportClock = (clock: Clock): Clock => clock.views?.reports ?? clock;
/** See `ClockViews.watchdogs`. */
export const watchdogClock = (clock: Clock): Clock => clock.views?.watchdogs ?? clock;

export interface Timer {
  cancel(): void;
}

/** Maximum delay of a Node.js timer; a longer one would fire immediately. */
const maxTimerMs = 2 ** 31 - 1;

/** The wall clock. */
export const realClock: Clock = {
  now: Date.now,
  monotonic: performance.now.bind(performance),
  setTimer(fn, ms) {
    const timer = setTimeout(fn, Math.min(Math.max(0, ms), maxTimerMs));
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  // Unlike `sleepWith` a timer here keeps the process alive.
  sleep(ms, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(Math.max(0, ms), maxTimerMs));
      signal?.addEventListener('abort', done, { once: true });
    });
  },
};

/**
 * The cluster's date with the process's timers, for a server whose objects live in the cluster's time and whose requests and
 * connections in the process's.
 */
export function datedClock(clock: Clock): Clock {
  const { views } = clock;
  return views === undefined ? clock : { ...views.process, now: () => clock.now(), views };
}

/** Time that passes with the cluster's clock and with the process's, for copies that must not be older in either. */
export function eitherTime(clock: Clock): Pick<Clock, 'monotonic'> {
  const process = clock.views?.process;
  return process === undefined ? clock : { monotonic: () => clock.monotonic() + process.monotonic() };
}

/** A clock's `sleep` in terms of its `setTimer`. */
export function sleepWith(setTimer: Clock['setTimer'], ms: number, signal?: Cancellation): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      timer.cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimer(finish, ms);
    signal?.addEventListener('abort', finish, { once: true });
  });
}

/** RFC 3339 with second precision and `Z`: the form of metav1.Time. */
export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 with six decimals: the form of metav1.MicroTime. */
export function formatMicroTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}

/** Milliseconds of an RFC 3339 text; `NaN` if invalid. */
export function parseTime(text: string): number {
  return Date.parse(text);
}
