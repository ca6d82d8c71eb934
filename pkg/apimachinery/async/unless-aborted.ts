import type { Cancellation } from '#apimachinery/cancellation.js';

/**
 * Settles like `promise`, or rejects with `error()` (default: the signal's reason) when the signal aborts first. The
 * promise goes on.
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
