/** A signal that aborts after a time or with the caller's signal. Call `release` when the wait is over. */
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';

export interface Deadline {
  readonly signal: AbortSignal;
  release(): void;
}

export function deadline(clock: Clock, ms: number, signal: Cancellation | undefined): Deadline {
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  const timer = clock.setTimer(abort, ms);
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    release() {
      timer.cancel();
      signal?.removeEventListener('abort', abort);
    },
  };
}
