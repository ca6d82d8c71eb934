import type { ApiServer } from '#apiserver/apiserver.js';

export interface ServeUntilOptions {
  readonly server: ApiServer;
  /** Aborts when the server is to end, whoever says so. */
  readonly closing: AbortController;
  /** What goes on beside the serving, until its signal aborts. */
  readonly work: (closing: AbortSignal) => Promise<void>;
  /** Ends the server. Idempotent. */
  readonly shutDown: () => Promise<void>;
}

/** Serves until the signal aborts or the server is closed. Rejects with what ended it before, of the server or of the work. */
export async function serveUntil(
  signal: AbortSignal,
  { closing, server, shutDown, work }: ServeUntilOptions,
): Promise<void> {
  const stop = () => closing.abort();
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  // It ends by `shutDown` alone, so that what is kept up can be left in order while requests are still answered.
  const ended = server.start(new AbortController().signal).finally(stop);
  // Before it is ready, a failure is heard of through the server's `ready`.
  ended.catch(() => undefined);
  try {
    await work(closing.signal);
  } catch (error) {
    // What the stop itself breaks off is no failure.
    if (!closing.signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    await shutDown();
  }
  await ended;
}
