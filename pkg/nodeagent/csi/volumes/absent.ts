/** Operations on files that may not exist. */
import { readdir, rmdir } from 'node:fs/promises';

/** Whether a file or one of its directories does not exist. */
export function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** The names in a directory; empty if it does not exist. */
export async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

/** Removes an empty directory, unless it does not exist. */
export async function removeEmptyDirectory(dir: string): Promise<void> {
  try {
    await rmdir(dir);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}
