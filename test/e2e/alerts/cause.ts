/** What makes alerts fire, and how that is felt. */
import { realClock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import type { Answers } from '#test/e2e/alerts/answers.js';
import type { TestCluster } from '#test/e2e/harness.js';

/** The cluster that all causes share. */
export interface Observed {
  readonly cluster: TestCluster;
  /** With all rights. */
  readonly client: Client;
}

export interface Cause {
  /** Names, or `name/severity`. */
  readonly alerts: readonly string[];
  /** Why it cannot be brought about here. */
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

/** Does it again and again until the result is called, which resolves when the last time is over. */
export function again(everyMs: number, work: () => Promise<unknown>): () => Promise<void> {
  const stop = new AbortController();
  const run = async () => {
    while (!stop.signal.aborted) {
      // That it fails may be the point of it.
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
