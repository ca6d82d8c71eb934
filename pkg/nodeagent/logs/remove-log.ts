/** Removes the log of a container. */
import { basename, dirname, join } from 'node:path';
import type { LogFiles } from '#nodeagent/logs/log-files.js';

/** `path`: the current file; the rotated ones beside it begin with its name. */
export async function removeLog(files: Pick<LogFiles, 'list' | 'remove'>, path: string): Promise<void> {
  if (path === '') return;
  await files.remove(path);
  const directory = dirname(path);
  const rotated = (await files.list(directory)).filter((name) => name.startsWith(`${basename(path)}.`));
  for (const name of rotated) await files.remove(join(directory, name));
}
