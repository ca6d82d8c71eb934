/** Waiting that lasts as long as something gets on: a busy machine is slow, and not broken. */
import type { Clock } from '#apimachinery/clock.js';

export interface Observation {
  readonly done: boolean;
  /** What is waited for, in words. */
  readonly waitingFor: string;
  /** Whatever changes while something gets on. */
  readonly progress: string;
}

export interface PatienceOptions {
  readonly clock: Clock;
  readonly look: () => Promise<Observation>;
  readonly pollMs: number;
  /** Gives up when nothing has changed for so long; ms. */
  readonly quietMs: number;
  /** Gives up after this in any case; ms. */
  readonly limitMs: number;
  /** Told from time to time what it waits for. */
  readonly onWaiting?: (waitingFor: string) => void;
}

/** How often somebody who watches is told. */
const tellMs = 5000;

/** Resolves when it is done. Rejects with an Error that names what was waited for. */
export async function untilDone(options: PatienceOptions): Promise<void> {
  const { clock, look, pollMs, quietMs, limitMs, onWaiting } = options;
  const startedMs = clock.monotonic();
  let changedMs = startedMs;
  let toldMs = startedMs;
  let last: string | undefined;
  for (;;) {
    const { done, waitingFor, progress } = await look();
    if (done) return;
    const nowMs = clock.monotonic();
    if (progress !== last) changedMs = nowMs;
    last = progress;
    if (nowMs - changedMs >= quietMs || nowMs - startedMs >= limitMs) {
      throw new Error(`waited ${Math.round((nowMs - startedMs) / 1000)} s for ${waitingFor}`);
    }
    if (nowMs - toldMs >= tellMs) {
      toldMs = nowMs;
      onWaiting?.(waitingFor);
    }
    await clock.sleep(pollMs);
  }
}
