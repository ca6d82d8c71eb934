/** Gives all that is in a volume to the pod's group (`fsGroup`), so that the group can read and write it. */
import { constants, type Stats } from 'node:fs';
import { chmod, chown, type FileHandle, lstat, open, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { descriptorPath, pathOnly } from '#nodeagent/files/regular-file.js';

const readWrite = 0o660;
const search = 0o110;
const setGid = 0o2000;
/** Bits of a directory that new files inherit their group from. */
const ofDirectories = readWrite | search | setGid;

export interface OwnershipOptions {
  readonly group: number;
  /** `Always`, or `OnRootMismatch`: nothing where the volume's root has the group and the bits already. */
  readonly policy: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Goes through the whole volume; the root comes last, so that one that was interrupted begins anew under either policy.
 * Links are given away, never followed, whoever exchanges them meanwhile. Throws the file system's errors.
 */
export async function giveToGroup(root: string, { group, policy, signal }: OwnershipOptions): Promise<void> {
  if (policy === 'OnRootMismatch' && isGiven(await stat(root), group)) return;
  const handle = await open(root, pathOnly | constants.O_DIRECTORY);
  try {
    await giveDirectory(handle, group, signal);
  } finally {
    await handle.close();
  }
}

/** Whether a file or directory needs no change: the group is right, and no bit is missing. Pure. */
function isGiven(stats: Pick<Stats, 'gid' | 'mode' | 'isDirectory' | 'isSymbolicLink'>, group: number): boolean {
  if (stats.gid !== group) return false;
  if (stats.isSymbolicLink()) return true;
  const bits = stats.isDirectory() ? ofDirectories : readWrite;
  return (stats.mode & bits) === bits;
}

async function giveDirectory(handle: FileHandle, group: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  for await (const { name } of await opendir(descriptorPath(handle))) {
    const path = join(descriptorPath(handle), name);
    const stats = await unlessMissing(lstat(path));
    if (stats === undefined || (!stats.isDirectory() && isGiven(stats, group))) continue;
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

/** What the descriptor stands for, and nothing that has taken its name since. */
async function give(handle: FileHandle, group: number): Promise<void> {
  const stats = await handle.stat();
  if (isGiven(stats, group)) return;
  const path = descriptorPath(handle);
  if (stats.gid !== group) await chown(path, -1, group);
  // A link has no bits of its own.
  if (stats.isSymbolicLink()) return;
  // After the owner: who gives a file away takes bits from it.
  await chmod(path, (stats.mode & 0o7777) | (stats.isDirectory() ? ofDirectories : readWrite));
}

async function unlessMissing<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    // Somebody else was quicker to remove it.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
