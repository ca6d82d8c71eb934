/** When a cluster ends that serves programs beside it. */
import type { Readable } from 'node:stream';
import type { Clock } from '#apimachinery/clock.js';
import { identify, isRunning } from '#cluster/process/identity.js';

/** Pause between looks at the owner. */
const lookMs = 500;

export interface Lifetime {
  readonly clock: Clock;
  /** Its end ends the cluster, as this side of a pipe has it; absent: not watched. */
  readonly input?: Readable | undefined;
  /** Process whose end ends the cluster; absent: none. */
  readonly owner?: number | undefined;
  /** Rejects when the cluster has failed. */
  readonly failed: Promise<void>;
}

/** Resolves at a signal, at the end of the input, or at the end of the owner. Rejects when the cluster fails. */
export async function untilEnd({ clock, input, owner, failed }: Lifetime): Promise<void> {
  const stop = new AbortController();
  const end = () => stop.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, end);
  const work = [
    new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true })),
    failed,
    ...(owner === undefined ? [] : [untilGone(owner, clock, stop.signal)]),
  ];
  if (input !== undefined) {
    for (const event of ['end', 'close', 'error'] as const) input.once(event, end);
    input.resume();
  }
  try {
    await Promise.race(work);
  } finally {
    end();
    for (const signal of signals) process.off(signal, end);
  }
}

/** Resolves when the process has ended. */
async function untilGone(pid: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const identity = identify(pid);
  if (identity === undefined) return;
  while (!signal.aborted && isRunning(identity)) await clock.sleep(lookMs, signal);
}
