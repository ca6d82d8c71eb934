/** The directories of pods below the agent's root. */
import { execFile } from 'node:child_process';
import { access, chmod, chown, mkdir, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mountsBelow, unmount } from '#nodeagent/files/mounts.js';

const run = promisify(execFile);

/** Only the agent and its group may list pod directories. */
const privateMode = 0o750;

export class PodDirectories {
  readonly #root: string;
  readonly #domain: string;
  /** The directory did not exist: the machine is new to this node name, or was set up again. */
  readonly isNew: boolean;

  private constructor(root: string, labelDomain: string, isNew: boolean) {
    this.#root = root;
    this.#domain = labelDomain;
    this.isNew = isNew;
  }

  /** Creates the directory of all pods. `labelDomain`: the dialect's, prefix of plugin names. */
  static async open(rootDir: string, labelDomain: string): Promise<PodDirectories> {
    const created = await mkdir(join(rootDir, 'pods'), { recursive: true, mode: privateMode });
    // The kernel lists mounts by paths without links.
    return new PodDirectories(join(await realpath(rootDir), 'pods'), labelDomain, created !== undefined);
  }

  /** Throws RangeError for a UID that is no valid directory name. */
  pod(uid: string): string {
    if (!isUID(uid)) throw new RangeError(`invalid UID of a pod: ${uid}`);
    return join(this.#root, uid);
  }

  /** `plugin`: such as `empty-dir`. */
  volume(uid: string, plugin: string, name: string): string {
    return join(this.pod(uid), 'volumes', `${this.#domain}~${plugin}`, name);
  }

  /** Exists once the volume is complete; afterwards containers may have changed it. */
  volumeMark(uid: string, plugin: string, name: string): string {
    return join(this.pod(uid), 'plugins', `${this.#domain}~${plugin}`, name, 'ready');
  }

  /** The path of a volume in every pod's directory, whether it exists or not. */
  async ofAll(plugin: string, name: string): Promise<string[]> {
    return (await this.list()).map((uid) => this.volume(uid, plugin, name));
  }

  /** Like `ofAll`, without the path of one pod. */
  async ofOthers(uid: string, plugin: string, name: string): Promise<string[]> {
    const own = this.volume(uid, plugin, name);
    return (await this.ofAll(plugin, name)).filter((path) => path !== own);
  }

  /** Mount point of a volume's sub-path for a container. `index`: of the container's volume mount. */
  subPath(uid: string, volume: string, container: string, index: number): string {
    return join(this.pod(uid), 'volume-subpaths', volume, container, String(index));
  }

  container(uid: string, name: string): string {
    return join(this.pod(uid), 'containers', name);
  }

  /** UIDs of the pods that have a directory. */
  async list(): Promise<string[]> {
    return (await readdir(this.#root)).filter(isUID);
  }

  /** Unmounts and removes the sub-paths of the pod's volumes. */
  async removeSubPaths(uid: string): Promise<void> {
    await removeTree(join(this.pod(uid), 'volume-subpaths'));
  }

  /** Unmounts everything below the pod's directory and removes it; does nothing if it does not exist. */
  async remove(uid: string): Promise<void> {
    await removeTree(this.pod(uid));
  }

  /** Removes the pod's volumes, but keeps its termination messages. */
  async removeVolumes(uid: string): Promise<void> {
    for (const name of ['volume-subpaths', 'volumes', 'volumeDevices', 'plugins'])
      await removeTree(join(this.pod(uid), name));
  }
}

function isUID(name: string): boolean {
  return /^[\w.-]+$/.test(name) && name !== '.' && name !== '..';
}

async function removeTree(dir: string): Promise<void> {
  if (!(await exists(dir))) return;
  for (const mount of await mountsBelow(dir)) await unmount(mount);
  const [left] = await mountsBelow(dir);
  // Never delete the content of a mount, which may not belong to the pod.
  if (left !== undefined) throw new Error(`${left} is still mounted`);
  // Containers can nest directories deeper than the longest path; rm can remove those.
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
  /** New files belong to this group. */
  readonly group?: number | undefined;
  /** Only its owner may remove a file. */
  readonly sticky?: boolean;
}

/** A directory that containers of any user, or of the pod's group, may write to. */
export async function makeWritableDirectory(dir: string, options: WritableDirectory = {}): Promise<void> {
  const { group, sticky = false } = options;
  await mkdir(dir, { recursive: true, mode: 0o755 });
  await chmod(dir, 0o777 | (sticky ? stickyBit : 0) | (group === undefined ? 0 : groupBit));
  if (group !== undefined) await chown(dir, -1, group);
}
