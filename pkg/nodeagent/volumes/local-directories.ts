/** The directories that persistent volumes on this node are, made for claims. */
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

/** No volume has such a name. What begins with it is being removed. */
const removedPrefix = '.removed-';

/** What the agent's server makes and removes. Throws RangeError for what is no name of a volume. */
export interface LocalVolumeDirectories {
  /**
   * Makes the directory unless it is there; any user may write to it. Returns its path.
   * @param bytes How much it may take; undefined: whatever there is.
   */
  make(name: string, bytes: number | undefined): Promise<string>;
  /** None is no error. Throws VolumeInUseError while a pod has it mounted, even one that the API has forgotten. */
  remove(name: string): Promise<void>;
}

/** The volume is mounted for pods. */
export class VolumeInUseError extends Error {
  override readonly name = 'VolumeInUseError';
}

export interface LocalDirectoriesOptions {
  /** Below the agent's root. */
  readonly root: string;
  readonly pods: Pick<PodDirectories, 'ofAll'>;
  /** What keeps directories to their sizes. */
  readonly quotas: Pick<ProjectQuotas, 'limit' | 'release'>;
  readonly log: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

export class LocalDirectories implements LocalVolumeDirectories {
  readonly #options: LocalDirectoriesOptions;
  /** The removals under way; never rejects. */
  #removing = Promise.resolve();

  constructor(options: LocalDirectoriesOptions) {
    this.#options = options;
  }

  /** Removes what an earlier agent had no time to remove. */
  async start(): Promise<void> {
    const { root } = this.#options;
    await mkdir(root, { recursive: true, mode: 0o711 });
    for (const name of await readdir(root)) if (name.startsWith(removedPrefix)) this.#removeLater(join(root, name));
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
    // Also of one that is there: an agent may have ended before it had a limit.
    if (bytes !== undefined) await quotas.limit(real, bytes);
    return real;
  }

  /** Takes the directory away at once; what is in it goes by and by. */
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
    this.#removeLater(removed);
  }

  /** Resolves when the removals that have begun are over. */
  removed(): Promise<void> {
    return this.#removing;
  }

  #path(name: string): string {
    checkName(name);
    return join(this.#options.root, name);
  }

  /** One after the other: disks are slow. Containers make trees that are deeper than any path is long; rm walks them. */
  #removeLater(path: string): void {
    const { log, quotas } = this.#options;
    this.#removing = this.#removing.then(async () => {
      try {
        await quotas.release(path, async () => {
          await run('rm', ['-rf', '--one-file-system', '--', path]);
        });
      } catch (error) {
        log.warn(
          { path, problem: messageOf(error) },
          'what was in a removed volume is still on the disk; the next start tries again',
        );
      }
    });
  }
}

/** Those of a simulated node, which are nowhere. */
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
  if (problem !== undefined) throw new RangeError(`not a name of a volume: ${problem}`);
}
