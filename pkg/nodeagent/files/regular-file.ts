/**
 * Reads files that containers can write. Such a file may be a link to the outside, a pipe without a writer, a device,
 * or larger than memory: only regular files are opened, and reads are limited.
 */
import { constants } from 'node:fs';
import { chmod, type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises';

/**
 * Linux's O_PATH, which Node.js does not define: refers to a file without opening it, so neither permissions nor
 * drivers matter.
 */
export const pathOnly = 0o10000000;

/** The path by which this process reaches an opened file, whatever its current name. */
export function descriptorPath({ fd }: Pick<FileHandle, 'fd'>): string {
  return `/proc/self/fd/${fd}`;
}

class NotRegularFileError extends Error {
  override readonly name = 'NotRegularFileError';
}

/** Opens for reading; undefined if nothing exists. Throws NotRegularFileError for links, pipes, devices and so on. */
export async function openRegularFile(path: string): Promise<FileHandle | undefined> {
  const pathHandle = await openUnlessMissing(path);
  if (pathHandle === undefined) return undefined;
  try {
    if (!(await pathHandle.stat()).isFile()) throw new NotRegularFileError(`${path} is not a regular file`);
    // Opens the same file, even if another one has its name now.
    return await open(descriptorPath(pathHandle), constants.O_RDONLY);
  } finally {
    await pathHandle.close();
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

/** The last bytes of a regular file, at most `limit`; undefined if there is none. Throws as `openRegularFile`. */
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
 * Writes a file's text atomically, unless it already has it. Replaces the file, so that bind mounts of the old one keep
 * its content, even on a full disk. Throws the file system's errors.
 */
export async function replaceIfChanged(path: string, text: string, mode: number): Promise<void> {
  const bytes = Buffer.from(text);
  // One byte more detects a longer file; a container may have filled the disk with it.
  if ((await readLastBytes(path, bytes.length + 1))?.equals(bytes)) return;
  const fresh = `${path}.new`;
  try {
    await writeFile(fresh, bytes);
    // Not at creation, because of the process's umask.
    await chmod(fresh, mode);
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
