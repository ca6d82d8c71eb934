import { writesAtOnce } from '#controllers/framework/bounded.js';

export interface SlowStartResult {
  readonly succeeded: number;
  /** Calls not started because an earlier one failed. */
  readonly skipped: number;
  /** The first failure. */
  readonly error: unknown;
}

/**
 * Makes `count` calls: one at first, and for each that succeeds one more may run at the same time. Starts none after a
 * failure, so that the API server is asked a few times and not thousands of times when all would fail (say, because a
 * quota is used up). Release 1.24 doubles the size of batches, to the same effect; here no call waits for the slowest
 * of a batch.
 */
export function slowStart(count: number, call: () => Promise<void>): Promise<SlowStartResult> {
  let begun = 0;
  let underWay = 0;
  let succeeded = 0;
  let failure: { readonly error: unknown } | undefined;
  return new Promise((resolve) => {
    const goOn = () => {
      while (failure === undefined && begun < count && underWay < Math.min(succeeded + 1, writesAtOnce)) {
        begun += 1;
        underWay += 1;
        void one();
      }
      if (underWay === 0) resolve({ succeeded, skipped: count - begun, error: failure?.error });
    };
    const one = async () => {
      try {
        await call();
        succeeded += 1;
      } catch (error) {
        failure ??= { error };
      }
      underWay -= 1;
      goOn();
    };
    goOn();
  });
}
