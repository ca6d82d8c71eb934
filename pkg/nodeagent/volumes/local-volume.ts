/** `local` persistent volumes: a directory of the node, or the file system on a block device. */
import { constants, type Stats } from 'node:fs';
import { mkdir, open, realpath, stat } from 'node:fs/promises';
import { runCommand, runMount } from '#nodeagent/files/mount-command.js';
import { bindMount, mountsOn, remountBind } from '#nodeagent/files/mounts.js';
import { pathOnly } from '#nodeagent/files/regular-file.js';
import { refuseBacksteps } from '#nodeagent/volumes/host-path.js';
import { VolumeError } from '#nodeagent/volumes/volume-error.js';

export interface LocalMount {
  readonly path: string;
  /** File system to create on an empty device. Default ext4. */
  readonly fsType: string;
  readonly readOnly: boolean;
  readonly options: readonly string[];
  readonly dir: string;
  readonly signal: AbortSignal;
}

const defaultType = 'ext4';
/** blkid's exit code for a device without a recognized content. */
const unrecognizedContent = 2;

export class LocalVolumes {
  /** By device, so that two concurrent pods create one file system. */
  readonly #preparing = new Map<string, Promise<string>>();

  /** Mounts the volume at `dir` unless it is mounted. Throws VolumeError. */
  async mount(mount: LocalMount): Promise<void> {
    const { path, dir, readOnly, options } = mount;
    refuseBacksteps(path, `invalid path: ${path} must not contain '..'`);
    const stats = await statOf(path);
    if (!stats.isDirectory() && !stats.isBlockDevice()) {
      const stage = 'MountVolume.NewMounter initialization failed';
      throw new VolumeError('only directory and block device are supported', { stage });
    }
    await mkdir(dir, { recursive: true, mode: 0o750 });
    if (stats.isBlockDevice()) return this.#mountDevice(mount);
    const source = await open(path, pathOnly | constants.O_DIRECTORY);
    try {
      await bindMount(source, dir);
    } finally {
      await source.close();
    }
    await remountBind(dir, [...(readOnly ? ['ro'] : []), ...options]);
  }

  async #mountDevice({ path, fsType, readOnly, options, dir, signal }: LocalMount): Promise<void> {
    if ((await mountsOn(dir)).length > 0) return;
    try {
      const device = await realpath(path);
      const preparing = this.#preparing.get(device) ?? prepareDevice({ device, fsType, readOnly, signal });
      this.#preparing.set(device, preparing);
      const type = await preparing.finally(() => this.#preparing.delete(device));
      const access = readOnly ? 'ro' : 'defaults';
      await runMount({ type, source: device, target: dir, options: [access, ...options] }, signal);
    } catch (error) {
      if (!(error instanceof Error) || error.name === 'MountInterruptedError') throw error;
      throw new VolumeError(error.message, { stage: 'MountVolume.MountDevice failed', cause: error });
    }
  }
}

/** The device of a volume in mode `Block`. Throws VolumeError. */
export async function localDevice(path: string): Promise<string> {
  refuseBacksteps(path, `invalid path: ${path} must not contain '..'`);
  const stage = 'MapVolume.SetUpDevice failed';
  const device = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    throw new VolumeError(error.code === 'ENOENT' ? `path "${path}" does not exist` : error.message, { stage });
  });
  if (!(await stat(device)).isBlockDevice()) throw new VolumeError(`path "${path}" is not a block device`, { stage });
  return device;
}

async function statOf(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const stage = 'MountVolume.NewMounter initialization failed';
    throw new VolumeError(code === 'ENOENT' ? `path "${path}" does not exist` : message, { stage, cause: error });
  }
}

interface Device {
  readonly device: string;
  readonly fsType: string;
  readonly readOnly: boolean;
  readonly signal: AbortSignal;
}

/** Creates a file system on an empty device. Returns the type of its file system. */
async function prepareDevice({ device, fsType, readOnly, signal }: Device): Promise<string> {
  const probe = await runCommand('blkid', ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device], signal);
  const fields = new Map(probe.output.split('\n').map((line) => line.split('=', 2) as [string, string]));
  if (probe.status === 0) {
    const type = fields.get('TYPE') ?? '';
    if (type !== '') return type;
    throw new Error(`failed to mount the volume: ${device} contains unknown data, probably partitions`);
  }
  if (probe.status !== unrecognizedContent)
    throw new Error(`checking for the file system of ${device}: ${probe.output}`);
  if (readOnly) throw new Error(`cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`);
  const type = fsType === '' ? defaultType : fsType;
  const args = type.startsWith('ext') ? ['-F', '-m0', device] : [device];
  const { status, output } = await runCommand(`mkfs.${type}`, args, signal);
  if (status !== 0) throw new Error(`format of disk ${device} failed: exit status ${status ?? -1}: ${output}`);
  return type;
}
