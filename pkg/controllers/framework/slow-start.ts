import { writesAtOnce } from '#controllers/framework/bounded.js';

/**
 * Runs `count` calls, one at first, and one more at once for each that has succeeded; begins no more after the first
 * failure: when all would fail (a quota is used up, say), the API server is asked a few times and not thousands. Release
 * 1.24 doubles batches, to the same effect; here no call waits for the slowest of a batch.
 */
export interface SlowStartResult {
  readonly succeeded: number;
  /** Calls not begun because an earlier one failed. */
  readonly skipped: number;
  /** The first failure. */
  readonly error: unknown;
}

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
