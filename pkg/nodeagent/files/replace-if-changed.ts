import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { readLastBytes } from '#nodeagent/files/regular-file.js';

/**
 * Gives a file this text in one step. One that has it already is not touched; else it is replaced by another, so that
 * whoever has the old one mounted keeps it as it was, also when the disk is full. Throws the file system's errors.
 */
export async function replaceIfChanged(path: string, text: string, mode: number): Promise<void> {
  const bytes = Buffer.from(text);
  // One byte more shows that it is longer: a container that can write it may have made it as long as the disk.
  if ((await readLastBytes(path, bytes.length + 1))?.equals(bytes)) return;
  const fresh = `${path}.new`;
  try {
    await writeFile(fresh, bytes);
    // Set apart from the creation: that is subject to the process's umask.
    await chmod(fresh, mode);
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
