/** Polling that gives up when nothing progresses: a busy machine is slow, and not broken. */
import type { Clock } from '#apimachinery/clock.js';

export interface Observation {
  readonly done: boolean;
  /** The missing condition, for people. */
  readonly waitingFor: string;
  /** A text that changes with every sign of progress. */
  readonly progress: string;
}

export interface StallTimeoutOptions {
  readonly clock: Clock;
  readonly look: () => Promise<Observation>;
  readonly pollMs: number;
  /** Gives up when `progress` has not changed for this long; ms. */
  readonly stallMs: number;
  /** Gives up after this in any case; ms. */
  readonly limitMs: number;
  /** Called every few seconds. */
  readonly onWaiting?: (waitingFor: string) => void;
}

/** Interval of `onWaiting`. */
const reportMs = 5000;

/** Resolves when it is done. Rejects with an Error that names the missing condition. */
export async function untilDone(options: StallTimeoutOptions): Promise<void> {
  const { clock, look, pollMs, stallMs, limitMs, onWaiting } = options;
  const startedMs = clock.monotonic();
  let changedMs = startedMs;
  let reportedMs = startedMs;
  let last: string | undefined;
  for (;;) {
    const { done, waitingFor, progress } = await look();
    if (done) return;
    const nowMs = clock.monotonic();
    if (progress !== last) changedMs = nowMs;
    last = progress;
    if (nowMs - changedMs >= stallMs || nowMs - startedMs >= limitMs) {
      throw new Error(`waited ${Math.round((nowMs - startedMs) / 1000)} s for ${waitingFor}`);
    }
    if (nowMs - reportedMs >= reportMs) {
      reportedMs = nowMs;
      onWaiting?.(waitingFor);
    }
    await clock.sleep(pollMs);
  }
}
