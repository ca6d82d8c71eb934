/** The folders of pods below the agent's root, and how they go away again. */
import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export class PodDirectories {
  readonly #root: string;
  readonly #domain: string;

  /** @param labelDomain Of the dialect: prefix of plugin names. */
  constructor(rootDir: string, labelDomain: string) {
    this.#root = join(rootDir, 'pods');
    this.#domain = labelDomain;
  }

  pod(uid: string): string {
    return join(this.#root, uid);
  }

  /** @param plugin Such as `empty-dir`. */
  volume(uid: string, plugin: string, name: string): string {
    return join(this.pod(uid), 'volumes', `${this.#domain}~${plugin}`, name);
  }

  subPaths(uid: string, volume: string): string {
    return join(this.pod(uid), 'volume-subpaths', volume);
  }

  container(uid: string, name: string): string {
    return join(this.pod(uid), 'containers', name);
  }

  /** UIDs of the pods that have a folder. */
  async list(): Promise<string[]> {
    try {
      return await readdir(this.#root);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  /** Unmounts what is mounted below the pod's folder and removes it. Nothing there is no error. */
  async remove(uid: string): Promise<void> {
    const dir = this.pod(uid);
    for (const mount of await mountsBelow(dir)) await run('umount', [mount]);
    await rm(dir, { recursive: true, force: true });
  }
}

/** Mount points below a directory, the deepest first. */
export async function mountsBelow(dir: string): Promise<string[]> {
  const text = await readFile('/proc/self/mounts', 'utf8');
  return text
    .split('\n')
    .map((line) => decodeMountPath(line.split(' ')[1] ?? ''))
    .filter((path) => path.startsWith(`${dir}/`))
    .sort((a, b) => b.length - a.length);
}

/** The kernel writes spaces and the like as octal numbers. */
function decodeMountPath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** A file system in memory at `dir`, unless there is one. @param sizeBytes Its limit. */
export async function mountTmpfs(dir: string, sizeBytes?: number): Promise<void> {
  const mounts = await readFile('/proc/self/mounts', 'utf8');
  if (mounts.split('\n').some((line) => decodeMountPath(line.split(' ')[1] ?? '') === dir)) return;
  const size = sizeBytes === undefined || sizeBytes <= 0 ? [] : ['-o', `size=${sizeBytes}`];
  await run('mount', ['-t', 'tmpfs', ...size, 'tmpfs', dir]);
}

/** A directory that containers of any user, or of the pod's group, may write to. */
export async function makeWritableDirectory(dir: string, group?: number): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o755 });
  await chmod(dir, group === undefined ? 0o777 : 0o2777);
  if (group !== undefined) await chown(dir, -1, group);
}
