/**
 * Reads files in places where containers can write. What is there may be a link out of the container, a pipe whose other
 * end never comes, a device, or larger than the machine's memory: only regular files are opened, and only so much is read.
 */
import { constants } from 'node:fs';
import { chmod, type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises';

/** Names a file without opening it: neither its permissions nor its driver are asked. Linux; Node.js has no name for it. */
export const pathOnly = 0o10000000;

/** The path by which this process reaches what a descriptor stands for, whatever its name is by now. */
export function descriptorPath({ fd }: Pick<FileHandle, 'fd'>): string {
  return `/proc/self/fd/${fd}`;
}

class NotRegularFileError extends Error {
  override readonly name = 'NotRegularFileError';
}

/** Opens for reading; undefined when nothing is there. Throws NotRegularFileError for links, pipes, devices and the like. */
export async function openRegularFile(path: string): Promise<FileHandle | undefined> {
  const found = await openUnlessMissing(path);
  if (found === undefined) return undefined;
  try {
    if (!(await found.stat()).isFile()) throw new NotRegularFileError(`${path} is not a regular file`);
    // The same file, even if its name stands for another one by now.
    return await open(descriptorPath(found), constants.O_RDONLY);
  } finally {
    await found.close();
  }
}

async function openUnlessMissing(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, pathOnly | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The last bytes of a regular file, at most `limit`; undefined when there is none. Throws as `openRegularFile`. */
export async function readLastBytes(path: string, limit: number): Promise<Buffer | undefined> {
  const file = await openRegularFile(path);
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    const length = Math.min(size, limit);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

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
