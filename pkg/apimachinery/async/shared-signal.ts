/** Signals that many parts of a daemon listen to. */
import { setMaxListeners } from 'node:events';

/**
 * The same signal, without the runtime's warning about more than ten listeners: one stop signal for all informers,
 * workers and timers of a daemon is meant to have many, and each removes its own.
 */
export function shared(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}
