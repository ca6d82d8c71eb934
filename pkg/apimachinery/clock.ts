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
}

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
