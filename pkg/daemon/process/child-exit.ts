import type { ChildProcess } from 'node:child_process';
import { realClock } from '#apimachinery/clock.js';

/** How long output is read after the exit, if a grandchild still holds it open. */
const lingerMs = 500;

/**
 * Exit code and signal of a child (one is null), once its output is read. Rejects with the system's error if the child
 * cannot start. Grandchildren that hold the output open do not delay it.
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
      // Let the event loop read the output once more: it may have been blocked all that time.
      const timer = realClock.setTimer(() => setImmediate(release), lingerMs);
      child.once('close', () => timer.cancel());
    });
  });
}
