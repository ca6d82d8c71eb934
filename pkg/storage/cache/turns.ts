/** Long work in short turns, so that it does not hold up everybody else. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '#apimachinery/clock.js';

/** Longest turn of the event loop that one piece of work takes. */
const maxTurnMs = 4;

/** A function to call now and then: it gives way to others once the present turn has lasted long enough. */
export function yielding(clock: Clock): () => Promise<void> | undefined {
  let sinceMs = clock.monotonic();
  return () => {
    if (clock.monotonic() - sinceMs < maxTurnMs) return undefined;
    return nextTurn().then(() => {
      sinceMs = clock.monotonic();
    });
  };
}
