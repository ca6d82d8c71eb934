/** Causes of alerts, and the wait for their alerts. */
import { realClock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import type { Answers } from '#test/e2e/alerts/answers.js';
import type { TestCluster } from '#test/e2e/harness.js';

/** The cluster that all causes share. */
export interface Observed {
  readonly cluster: TestCluster;
  /** A client with all rights. */
  readonly client: Client;
}

export interface Cause {
  /** Names, or `name/severity`. */
  readonly alerts: readonly string[];
  /** Why the cause cannot be produced here. */
  readonly skip?: string | undefined;
  /** Begins; the result takes the cause away. */
  begin(): Promise<() => Promise<unknown>>;
}

/** Resolves when all of its alerts have fired, and ended after the cause was taken away. */
export async function isFelt(answers: Answers, { alerts, begin }: Cause): Promise<void> {
  const end = await begin();
  try {
    await answers.fires(alerts);
  } finally {
    await end();
  }
  await answers.end(alerts);
}

/** Repeats the work until the result is called, which resolves after the last run. */
export function again(everyMs: number, work: () => Promise<unknown>): () => Promise<void> {
  const stop = new AbortController();
  const run = async () => {
    while (!stop.signal.aborted) {
      // Some causes consist of failures.
      await work().catch(() => undefined);
      await realClock.sleep(everyMs, stop.signal);
    }
  };
  const running = run();
  return async () => {
    stop.abort();
    await running;
  };
}
