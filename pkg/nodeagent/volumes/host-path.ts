/** hostPath volumes: what the type demands of the path. */

import type { Stats } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { VolumeError } from '#nodeagent/volumes/volume-error.js';

async function find(path: string): Promise<Stats | undefined> {
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

/** Never opens what somebody else has put there meanwhile: that could be a pipe, and the agent would wait for ever. */
async function makeFile(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o644)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Makes what the type says is made, and throws VolumeError when the path is not what the type says it is. */
export async function checkHostPath(path: string, type: string): Promise<void> {
  refuseBacksteps(path, `invalid HostPath \`${path}\`: must not contain '..'`);
  if (type === '') return;
  let stats = await find(path);
  if (stats === undefined && type === 'DirectoryOrCreate') await mkdir(path, { recursive: true, mode: 0o755 });
  if (stats === undefined && type === 'FileOrCreate') await makeFile(path);
  stats ??= await find(path);
  const check = checks[type];
  if (check === undefined) throw new VolumeError(`hostPath type "${type}" is not known`);
  if (stats === undefined || !check.is(stats)) {
    throw new VolumeError(`hostPath type check failed: ${path} is not ${check.what}`);
  }
}

/** Throws VolumeError for a path that goes up again. */
export function refuseBacksteps(path: string, message: string): void {
  if (path.split('/').includes('..')) throw new VolumeError(message);
}
