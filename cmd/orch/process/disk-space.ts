import { statfsSync } from 'node:fs';
import { messageOf } from '#apimachinery/errors/message.js';

/** With less, a store that is asked to write may end: its journal grows by files of this size. */
const scarceBytes = 64 * 1024 * 1024;

/** What is wrong with the disk under a directory, and what to do about it; undefined when there is room. */
export function diskProblem(dir: string): string | undefined {
  try {
    const { bavail, bsize, ffree } = statfsSync(dir);
    const free = bavail * bsize;
    if (free >= scarceBytes && ffree > 0) return undefined;
    const left = ffree === 0 ? 'no files' : `${Math.floor(free / 1024 / 1024)} MiB`;
    return `the disk of ${dir} has ${left} left: make room there, and the program goes on by itself`;
  } catch (error) {
    return `the disk of ${dir} cannot be looked at: ${messageOf(error)}`;
  }
}
