import type { ChildProcess } from 'node:child_process';
import { realClock } from '#apimachinery/clock.js';

/** How long what has ended is read from, where a child of its own holds the other end. */
const lingerMs = 500;

/**
 * Exit code and signal (one of them null) of a child that has just been started, once its output is read; rejects with
 * the system's error when it could not be started. Children of the child that hold its output open do not hold this up.
 */
export function childExit(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (...ended: [number | null, NodeJS.Signals | null]) => resolve(ended));
    child.once('exit', () => {
      const release = () => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      };
      // Not before the event loop has looked at the output once more: it may have been held up for all of that time.
      const timer = realClock.setTimer(() => setImmediate(release), lingerMs);
      child.once('close', () => timer.cancel());
    });
  });
}
