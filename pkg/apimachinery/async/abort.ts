/** Helpers for abort signals. */
import { setMaxListeners } from 'node:events';
import type { Cancellation } from '#apimachinery/cancellation.js';

/**
 * Disables the runtime's warning about more than ten listeners: all informers, workers and timers of a daemon share one
 * stop signal, and each removes its own listener.
 */
export function allowManyListeners(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}

/**
 * Settles like `promise`, or rejects with `error()` (default: the signal's reason) when the signal aborts first. The
 * promise itself continues.
 */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: Cancellation | undefined,
  error?: () => Error,
): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(error === undefined ? (signal.reason as Error) : error());
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Resolves when the signal aborts, immediately if it already has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
