/** Gives the content of a volume to the pod's group (`fsGroup`), with read and write access. */
import { constants, type Stats } from 'node:fs';
import { chmod, chown, type FileHandle, lstat, open, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { descriptorPath, pathOnly } from '#nodeagent/files/regular-file.js';

const readWrite = 0o660;
const search = 0o110;
const setGid = 0o2000;
/** Includes setgid, so that new files inherit the directory's group. */
const directoryBits = readWrite | search | setGid;

export interface OwnershipOptions {
  readonly group: number;
  /** `Always`, or `OnRootMismatch`: skips the volume if its root already has the group and the bits. */
  readonly policy: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Changes the whole volume, its root last, so that an interrupted run restarts under either policy. Changes links
 * themselves and never follows them, even if another process exchanges them. Throws the file system's errors.
 */
export async function giveToGroup(root: string, { group, policy, signal }: OwnershipOptions): Promise<void> {
  if (policy === 'OnRootMismatch' && belongsToGroup(await stat(root), group)) return;
  const handle = await open(root, pathOnly | constants.O_DIRECTORY);
  try {
    await giveDirectory(handle, group, signal);
  } finally {
    await handle.close();
  }
}

/** True if a file or directory has the group and all bits. Pure. */
function belongsToGroup(stats: Pick<Stats, 'gid' | 'mode' | 'isDirectory' | 'isSymbolicLink'>, group: number): boolean {
  if (stats.gid !== group) return false;
  if (stats.isSymbolicLink()) return true;
  const bits = stats.isDirectory() ? directoryBits : readWrite;
  return (stats.mode & bits) === bits;
}

async function giveDirectory(handle: FileHandle, group: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  for await (const { name } of await opendir(descriptorPath(handle))) {
    const path = join(descriptorPath(handle), name);
    const stats = await unlessMissing(lstat(path));
    if (stats === undefined || (!stats.isDirectory() && belongsToGroup(stats, group))) continue;
    const entry = await unlessMissing(open(path, pathOnly | constants.O_NOFOLLOW));
    if (entry === undefined) continue;
    try {
      if ((await entry.stat()).isDirectory()) await giveDirectory(entry, group, signal);
      else await give(entry, group);
    } finally {
      await entry.close();
    }
  }
  await give(handle, group);
}

/** Changes the opened file, even if another one has its name now. */
async function give(handle: FileHandle, group: number): Promise<void> {
  const stats = await handle.stat();
  if (belongsToGroup(stats, group)) return;
  const path = descriptorPath(handle);
  if (stats.gid !== group) await chown(path, -1, group);
  // Links have no permission bits.
  if (stats.isSymbolicLink()) return;
  // After chown, which clears bits.
  await chmod(path, (stats.mode & 0o7777) | (stats.isDirectory() ? directoryBits : readWrite));
}

async function unlessMissing<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    // Another process has removed it.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
