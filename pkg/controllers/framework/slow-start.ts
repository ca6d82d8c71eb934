/**
 * Runs `count` calls in batches of 1, 2, 4, … and stops after the first batch with a failure: when all would fail
 * (a quota is used up, say), the API server is asked a few times and not thousands.
 */
export interface SlowStartResult {
  readonly succeeded: number;
  /** Calls not begun because an earlier batch failed. */
  readonly skipped: number;
  /** The first failure. */
  readonly error: unknown;
}

export async function slowStart(count: number, call: () => Promise<void>): Promise<SlowStartResult> {
  let remaining = count;
  let succeeded = 0;
  for (let batch = Math.min(remaining, 1); batch > 0; batch = Math.min(2 * batch, remaining)) {
    const results = await Promise.allSettled(Array.from({ length: batch }, () => call()));
    const failed = results.filter((result) => result.status === 'rejected');
    succeeded += batch - failed.length;
    remaining -= batch;
    if (failed[0] !== undefined) return { succeeded, skipped: remaining, error: failed[0].reason };
  }
  return { succeeded, skipped: 0, error: undefined };
}
