/** What the tasks (threads) of processes do, out of `/proc`, as cAdvisor tells it. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Names of release 1.24. The kernel tells waiting for disks from waiting only while it lasts: `uninterruptible` has both. */
export const taskStateNames = ['sleeping', 'running', 'stopped', 'uninterruptible', 'iowaiting'] as const;
export type TaskStates = Readonly<Record<(typeof taskStateNames)[number], number>>;

/** Of `/proc/<pid>/stat`. What has ended counts for nothing. */
const stateOf: Readonly<Record<string, keyof TaskStates>> = {
  S: 'sleeping',
  I: 'sleeping',
  R: 'running',
  T: 'stopped',
  t: 'stopped',
  D: 'uninterruptible',
};

/** Tasks that are looked at, at most: a container may have as many as it likes. */
const maxTasks = 2000;
const batchSize = 64;

/** Of these processes together; those that have ended meanwhile have none. Beyond the bound the figures are too low. */
export async function taskStates(processes: readonly number[], proc = '/proc'): Promise<TaskStates> {
  const counts = { sleeping: 0, running: 0, stopped: 0, uninterruptible: 0, iowaiting: 0 };
  let left = maxTasks;
  for (const process of processes) {
    if (left <= 0) break;
    const dir = join(proc, String(process), 'task');
    const tasks = (await readdir(dir).catch(() => [])).slice(0, left);
    left -= Math.max(1, tasks.length);
    for (let at = 0; at < tasks.length; at += batchSize) {
      const batch = tasks.slice(at, at + batchSize);
      const texts = await Promise.all(batch.map((task) => readFile(join(dir, task, 'stat'), 'utf8').catch(() => '')));
      for (const text of texts) {
        // The name before it may hold anything.
        const state = stateOf[text.charAt(text.lastIndexOf(')') + 2)];
        if (state !== undefined) counts[state] += 1;
      }
    }
  }
  return counts;
}
