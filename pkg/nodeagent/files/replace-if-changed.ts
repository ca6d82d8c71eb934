import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';

/**
 * Gives a file this text in one step. One that has it already is not touched; else it is replaced by another, so that
 * whoever has the old one mounted keeps it as it was, also when the disk is full. Throws the file system's errors.
 */
export async function replaceIfChanged(path: string, text: string, mode: number): Promise<void> {
  if ((await textOf(path)) === text) return;
  const fresh = `${path}.new`;
  try {
    await writeFile(fresh, text);
    // Set apart from the creation: that is subject to the process's umask.
    await chmod(fresh, mode);
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
