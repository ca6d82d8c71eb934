/** The time of the browser. Node.js' clock keeps its timers from holding the process, which browsers do not know. */
import type { Clock } from '#apimachinery/clock.js';

export const browserClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  setTimer(fn, ms) {
    const timer = setTimeout(fn, ms);
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
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    });
  },
};

/** Jitter of pauses. */
export function browserRandom(): number {
  return Math.random();
}
