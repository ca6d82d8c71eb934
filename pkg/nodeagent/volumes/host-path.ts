/** hostPath volumes: creates and checks the path as its type requires. */

import type { Stats } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { VolumeError } from '#nodeagent/volumes/volume-error.js';

async function statIfExists(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const checks: Readonly<Record<string, { what: string; is: (stats: Stats) => boolean }>> = {
  Directory: { what: 'a directory', is: (stats) => stats.isDirectory() },
  DirectoryOrCreate: { what: 'a directory', is: (stats) => stats.isDirectory() },
  File: { what: 'a file', is: (stats) => stats.isFile() },
  FileOrCreate: { what: 'a file', is: (stats) => stats.isFile() },
  Socket: { what: 'a socket file', is: (stats) => stats.isSocket() },
  CharDevice: { what: 'a character device', is: (stats) => stats.isCharacterDevice() },
  BlockDevice: { what: 'a block device', is: (stats) => stats.isBlockDevice() },
};

/** Never opens an existing file: opening a pipe would block the agent forever. */
async function makeFile(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o644)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Creates the path if its type says so. Throws VolumeError if the path is not of its type. */
export async function checkHostPath(path: string, type: string): Promise<void> {
  refuseBacksteps(path, `invalid HostPath \`${path}\`: must not contain '..'`);
  if (type === '') return;
  let stats = await statIfExists(path);
  if (stats === undefined && type === 'DirectoryOrCreate') await mkdir(path, { recursive: true, mode: 0o755 });
  if (stats === undefined && type === 'FileOrCreate') await makeFile(path);
  stats ??= await statIfExists(path);
  const check = checks[type];
  if (check === undefined) throw new VolumeError(`hostPath type "${type}" is not known`);
  if (stats === undefined || !check.is(stats)) {
    throw new VolumeError(`hostPath type check failed: ${path} is not ${check.what}`);
  }
}

/** Throws VolumeError for a path with `..`. */
export function refuseBacksteps(path: string, message: string): void {
  if (path.split('/').includes('..')) throw new VolumeError(message);
}
