/** Maps a block device into the directories of 1.24, and keeps it open while a pod uses it. */
import { lstat, mkdir, open, readdir, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '#apimachinery/errors/message.js';
import { isAbsent, namesIn } from '#nodeagent/csi/volumes/absent.js';
import { runCommand } from '#nodeagent/files/mount-command.js';
import { bindMount, unmount } from '#nodeagent/files/mounts.js';
import { pathOnly } from '#nodeagent/files/regular-file.js';

export interface DeviceMap {
  /** Directory of bind mounts of the device, named after pods. */
  readonly globalDir: string;
  /** Directory of links to devices, named after volumes. */
  readonly podDir: string;
  readonly podUID: string;
  /** Name of the link. */
  readonly volume: string;
}

/** No command takes longer than an operation of a driver. */
const commandMs = 120_000;
const sysBlock = '/sys/block';

/** Maps the device at `path`; idempotent. Returns the link for containers. Throws Error with 1.24's text. */
export async function mapDevice(path: string, { globalDir, podDir, podUID, volume }: DeviceMap): Promise<string> {
  const lockPath = join(globalDir, podUID);
  const link = join(podDir, volume);
  const place = (dir: string, isBind: boolean) =>
    `${isBind ? `globalMapPath:${dir}, podUID: ${podUID}` : `podVolumeMapPath:${dir}, volumeMapName: ${volume}`}, bindMount: ${isBind}`;
  try {
    await bindDevice(path, globalDir, lockPath);
  } catch (error) {
    throw new Error(`blkUtil.MapDevice failed. devicePath: ${path}, ${place(globalDir, true)}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  try {
    await mkdir(podDir, { recursive: true, mode: 0o750 });
    await rm(link, { force: true });
    await symlink(path, link);
  } catch (error) {
    throw new Error(`blkUtil.MapDevice failed. devicePath: ${path}, ${place(podDir, false)}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  try {
    // An open loop device keeps the kernel from giving the device's number to another one.
    if ((await loopDeviceOf(lockPath)) === undefined) await losetup(['-f', lockPath]);
  } catch (error) {
    const where = `globalMapPath:${globalDir}, podUID: ${podUID}`;
    throw new Error(`blkUtil.AttachFileDevice failed. ${where}: ${messageOf(error)}`, { cause: error });
  }
  return link;
}

async function bindDevice(path: string, globalDir: string, target: string): Promise<void> {
  await mkdir(globalDir, { recursive: true, mode: 0o750 });
  if (await isDevice(target)) return;
  await (await open(target, 'a', 0o750)).close();
  const source = await open(path, pathOnly);
  try {
    if (!(await source.stat()).isBlockDevice()) throw new Error(`${path} is not a block device`);
    await bindMount(source, target);
  } finally {
    await source.close();
  }
}

/** Undoes `mapDevice`; idempotent. */
export async function unmapDevice({ globalDir, podDir, podUID, volume }: DeviceMap): Promise<void> {
  const lockPath = join(globalDir, podUID);
  const loop = await loopDeviceOf(lockPath);
  if (loop !== undefined) await losetup(['-d', loop]);
  await rm(join(podDir, volume), { force: true });
  if (await isDevice(lockPath)) await unmount(lockPath);
  await rm(lockPath, { force: true });
}

/** The devices that pods have mapped. */
export async function mappedDevices(globalDir: string): Promise<string[]> {
  const mapped: string[] = [];
  for (const name of await namesIn(globalDir))
    if (await isDevice(join(globalDir, name))) mapped.push(join(globalDir, name));
  return mapped;
}

async function isDevice(path: string): Promise<boolean> {
  try {
    const stats = await lstat(path);
    return stats.isBlockDevice() || stats.isCharacterDevice();
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/** The loop device whose file is at `path`. */
async function loopDeviceOf(path: string): Promise<string | undefined> {
  let real: string;
  try {
    real = await realpath(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  for (const name of await readdir(sysBlock)) {
    if (!name.startsWith('loop')) continue;
    const file = await readFile(join(sysBlock, name, 'loop/backing_file'), 'utf8').catch(() => undefined);
    const backing = file?.trim();
    if (backing === path || backing === real) return `/dev/${name}`;
  }
  return undefined;
}

async function losetup(args: readonly string[]): Promise<void> {
  const { status, output } = await runCommand('losetup', args, AbortSignal.timeout(commandMs));
  if (status !== 0) throw new Error(`losetup ${args.join(' ')} failed: exit status ${status ?? -1}: ${output.trim()}`);
}
