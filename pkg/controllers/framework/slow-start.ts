import { maxConcurrentWrites } from '#controllers/framework/bounded-concurrency.js';

export interface SlowStartResult {
  readonly succeeded: number;
  /** The number of calls not started after a failure. */
  readonly skipped: number;
  /** The first failure. */
  readonly error: unknown;
}

/**
 * Makes `count` calls. Concurrency starts at one and grows by one with each success. No call starts after a failure, so
 * that a condition that fails all calls, such as an exhausted quota, costs only a few requests. Release 1.24 doubles
 * batch sizes instead, so that each batch waits for its slowest call.
 */
export function slowStart(count: number, call: () => Promise<void>): Promise<SlowStartResult> {
  let started = 0;
  let running = 0;
  let succeeded = 0;
  let failure: { readonly error: unknown } | undefined;
  return new Promise((resolve) => {
    const startNext = () => {
      while (failure === undefined && started < count && running < Math.min(succeeded + 1, maxConcurrentWrites)) {
        started += 1;
        running += 1;
        void run();
      }
      if (running === 0) resolve({ succeeded, skipped: count - started, error: failure?.error });
    };
    const run = async () => {
      try {
        await call();
        succeeded += 1;
      } catch (error) {
        failure ??= { error };
      }
      running -= 1;
      startNext();
    };
    startNext();
  });
}
