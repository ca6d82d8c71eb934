/** The folders of pods below the agent's root, and how they go away again. */
import { execFile } from 'node:child_process';
import { access, chmod, chown, mkdir, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mountsBelow, unmount } from '#nodeagent/files/mounts.js';

const run = promisify(execFile);

/** Nobody but the agent and its group looks into the folders of pods. */
const privateMode = 0o750;

export class PodDirectories {
  readonly #root: string;
  readonly #domain: string;
  /** There was none before: the machine has not been this node, or was set up anew. */
  readonly isNew: boolean;

  private constructor(root: string, labelDomain: string, isNew: boolean) {
    this.#root = root;
    this.#domain = labelDomain;
    this.isNew = isNew;
  }

  /** Makes the folder of all pods. @param labelDomain Of the dialect: prefix of plugin names. */
  static async open(rootDir: string, labelDomain: string): Promise<PodDirectories> {
    const made = await mkdir(join(rootDir, 'pods'), { recursive: true, mode: privateMode });
    // The kernel names mounts by paths without links.
    return new PodDirectories(join(await realpath(rootDir), 'pods'), labelDomain, made !== undefined);
  }

  /** Throws RangeError for what is no name of a folder. */
  pod(uid: string): string {
    if (!isUID(uid)) throw new RangeError(`invalid UID of a pod: ${uid}`);
    return join(this.#root, uid);
  }

  /** @param plugin Such as `empty-dir`. */
  volume(uid: string, plugin: string, name: string): string {
    return join(this.pod(uid), 'volumes', `${this.#domain}~${plugin}`, name);
  }

  /** Is there once the volume has been made: what containers have changed in it since is theirs. */
  volumeMark(uid: string, plugin: string, name: string): string {
    return join(this.pod(uid), 'plugins', `${this.#domain}~${plugin}`, name, 'ready');
  }

  /** Where pods have a volume of that name, or would have it. */
  async ofAll(plugin: string, name: string): Promise<string[]> {
    return (await this.list()).map((uid) => this.volume(uid, plugin, name));
  }

  /** The same without one of the pods. */
  async ofOthers(uid: string, plugin: string, name: string): Promise<string[]> {
    const own = this.volume(uid, plugin, name);
    return (await this.ofAll(plugin, name)).filter((path) => path !== own);
  }

  /** Where a part of a volume is mounted for a container. @param index Of the container's volume mount. */
  subPath(uid: string, volume: string, container: string, index: number): string {
    return join(this.pod(uid), 'volume-subpaths', volume, container, String(index));
  }

  container(uid: string, name: string): string {
    return join(this.pod(uid), 'containers', name);
  }

  /** UIDs of the pods that have a folder. */
  async list(): Promise<string[]> {
    return (await readdir(this.#root)).filter(isUID);
  }

  /** Unmounts what is mounted below the pod's folder and removes it. Nothing there is no error. */
  async remove(uid: string): Promise<void> {
    await removeTree(this.pod(uid));
  }

  /** The same for the pod's volumes only: its termination messages stay. */
  async removeVolumes(uid: string): Promise<void> {
    for (const name of ['volume-subpaths', 'volumes', 'plugins']) await removeTree(join(this.pod(uid), name));
  }
}

function isUID(name: string): boolean {
  return /^[\w.-]+$/.test(name) && name !== '.' && name !== '..';
}

async function removeTree(dir: string): Promise<void> {
  if (!(await exists(dir))) return;
  for (const mount of await mountsBelow(dir)) await unmount(mount);
  const [left] = await mountsBelow(dir);
  // What is mounted is not the pod's alone: it must not go with the folder.
  if (left !== undefined) throw new Error(`${left} is still mounted`);
  // Containers make trees that are deeper than any path is long; this command walks them all the same.
  await run('rm', ['-rf', '--one-file-system', '--', dir]);
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

const stickyBit = 0o1000;
const groupBit = 0o2000;

export interface WritableDirectory {
  /** What is made in it belongs to this group. */
  readonly group?: number | undefined;
  /** A file in it is removed by its owner only. */
  readonly sticky?: boolean;
}

/** A directory that containers of any user, or of the pod's group, may write to. */
export async function makeWritableDirectory(dir: string, options: WritableDirectory = {}): Promise<void> {
  const { group, sticky = false } = options;
  await mkdir(dir, { recursive: true, mode: 0o755 });
  await chmod(dir, 0o777 | (sticky ? stickyBit : 0) | (group === undefined ? 0 : groupBit));
  if (group !== undefined) await chown(dir, -1, group);
}
