/** The directories of persistent volumes on this node, created for claims. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, realpath, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '#apimachinery/errors/message.js';
import { dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import type { Logger } from '#daemon/log/logger.js';
import { mountsOn } from '#nodeagent/files/mounts.js';
import { makeWritableDirectory, type PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import type { ProjectQuotas } from '#nodeagent/volumes/project-quotas.js';

const run = promisify(execFile);

/** Prefix of directories that are being removed; no volume has such a name. */
const removedPrefix = '.removed-';

/** Directories that the agent's server creates and removes. Throws RangeError for an invalid volume name. */
export interface LocalVolumeDirectories {
  /** Creates the directory, writable for any user, unless it exists; returns its path. `bytes`: size limit, if any. */
  make(name: string, bytes: number | undefined): Promise<string>;
  /**
   * Does nothing if it does not exist. Throws VolumeInUseError while it is mounted for a pod, even for one that is gone
   * from the API.
   */
  remove(name: string): Promise<void>;
}

/** The volume is mounted for pods. */
export class VolumeInUseError extends Error {
  override readonly name = 'VolumeInUseError';
}

export interface LocalDirectoriesOptions {
  /** A directory below the agent's root. */
  readonly root: string;
  readonly pods: Pick<PodDirectories, 'ofAll'>;
  /** Enforces the size limits. */
  readonly quotas: Pick<ProjectQuotas, 'limit' | 'release'>;
  readonly log: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

export class LocalDirectories implements LocalVolumeDirectories {
  readonly #options: LocalDirectoriesOptions;
  /** Running removals; never rejects. */
  #removing = Promise.resolve();

  constructor(options: LocalDirectoriesOptions) {
    this.#options = options;
  }

  /** Continues the removals of an earlier agent. */
  async start(): Promise<void> {
    const { root } = this.#options;
    await mkdir(root, { recursive: true, mode: 0o711 });
    for (const name of await readdir(root))
      if (name.startsWith(removedPrefix)) this.#removeInBackground(join(root, name));
  }

  async make(name: string, bytes: number | undefined): Promise<string> {
    const { quotas, root } = this.#options;
    const path = this.#path(name);
    await mkdir(root, { recursive: true, mode: 0o711 });
    let isNew = true;
    try {
      await mkdir(path, { mode: 0o755 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      isNew = false;
    }
    if (isNew) await makeWritableDirectory(path);
    const real = await realpath(path);
    // Also for an existing directory: an agent may have ended before setting the limit.
    if (bytes !== undefined) await quotas.limit(real, bytes);
    return real;
  }

  /** Renames the directory at once; its content is removed in the background. */
  async remove(name: string): Promise<void> {
    const { root, pods, random } = this.#options;
    const path = this.#path(name);
    for (const mounted of await pods.ofAll('local-volume', name)) {
      if ((await mountsOn(mounted)).length > 0) throw new VolumeInUseError(`${path} is mounted at ${mounted}`);
    }
    const removed = join(root, `${removedPrefix}${name}-${random().toString(36).slice(2)}`);
    try {
      await rename(path, removed);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    this.#removeInBackground(removed);
  }

  /** Resolves once all current removals have ended. */
  removed(): Promise<void> {
    return this.#removing;
  }

  #path(name: string): string {
    checkName(name);
    return join(this.#options.root, name);
  }

  /**
   * Runs one removal at a time, since disks are slow. Containers can nest directories deeper than the longest path; rm
   * can remove those.
   */
  #removeInBackground(path: string): void {
    const { log, quotas } = this.#options;
    this.#removing = this.#removing.then(async () => {
      try {
        await quotas.release(path, async () => {
          await run('rm', ['-rf', '--one-file-system', '--', path]);
        });
      } catch (error) {
        log.warn(
          { path, problem: messageOf(error) },
          'failed to remove the content of a deleted volume; the next start retries',
        );
      }
    });
  }
}

/** Volumes of a simulated node, without any directory. */
export class SimulatedLocalDirectories implements LocalVolumeDirectories {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async make(name: string): Promise<string> {
    checkName(name);
    return join(this.#root, name);
  }

  async remove(name: string): Promise<void> {
    checkName(name);
  }
}

function checkName(name: string): void {
  const [problem] = dns1123SubdomainErrors(name);
  if (problem !== undefined) throw new RangeError(`invalid volume name: ${problem}`);
}
