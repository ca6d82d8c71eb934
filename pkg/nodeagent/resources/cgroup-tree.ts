/** Cgroups by their paths: made, limited, removed. Version 1 has a tree of them for each controller, version 2 one. */
import { join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type CgroupFiles, errorCode } from '#nodeagent/resources/cgroup-files.js';
import {
  type CgroupLimits,
  type CgroupVersion,
  type Controller,
  cgroupSettings,
  controllers,
} from '#nodeagent/resources/cgroup-settings.js';

export interface CgroupTreeOptions {
  readonly files: CgroupFiles;
  readonly clock: Clock;
  /** Where the hierarchies are mounted; `/sys/fs/cgroup`. */
  readonly mountPoint: string;
  readonly version: CgroupVersion;
  /** Of the machine's huge pages, in bytes. */
  readonly pageSizes: readonly number[];
}

/** A limit that the kernel did not take. */
export class CgroupLimitError extends Error {
  constructor(file: string, text: string, cause: unknown) {
    super(`writing ${JSON.stringify(text)} to ${file}: ${messageOf(cause)}`, { cause });
  }
}

/** Where systems mount them. */
export const cgroupMountPoint = '/sys/fs/cgroup';

/** Processes that were killed need a while until they are gone. */
const removal = { tries: 20, pauseMs: 50 };

export class CgroupTree {
  readonly #options: CgroupTreeOptions;
  #controllers: readonly Controller[] | undefined;

  constructor(options: CgroupTreeOptions) {
    this.#options = options;
  }

  get version(): CgroupVersion {
    return this.#options.version;
  }

  get mountPoint(): string {
    return this.#options.mountPoint;
  }

  /** Of `controllers`, those that the machine has. */
  async controllers(): Promise<readonly Controller[]> {
    this.#controllers ??= await this.#findControllers();
    return this.#controllers;
  }

  async #findControllers(): Promise<Controller[]> {
    const { files, mountPoint, version } = this.#options;
    if (version === 2) {
      const names = (await files.read(join(mountPoint, 'cgroup.controllers'))).trim().split(/\s+/);
      return controllers.filter((name) => names.includes(name));
    }
    const there = await Promise.all(controllers.map((name) => files.exists(join(mountPoint, name, 'cgroup.procs'))));
    return controllers.filter((_, i) => there[i]);
  }

  /** Where a cgroup lies, for each controller; several controllers may share a directory. */
  #directory(controller: Controller, path: string): string {
    const { mountPoint, version } = this.#options;
    return version === 2 ? join(mountPoint, path) : join(mountPoint, controller, path);
  }

  /** Directories of a cgroup that are not there. */
  async missing(path: string): Promise<string[]> {
    const dirs = [...new Set((await this.controllers()).map((name) => this.#directory(name, path)))];
    const there = await Promise.all(dirs.map((dir) => this.#options.files.exists(dir)));
    return dirs.filter((_, i) => !there[i]);
  }

  /** Makes the cgroup with its parents, where it is not there. Throws what the kernel says. */
  async create(path: string): Promise<void> {
    const names = await this.controllers();
    if (this.#options.version === 2) {
      await this.#handDown(path, names);
      return;
    }
    for (const name of names) await this.#options.files.make(this.#directory(name, path));
  }

  /** Version 2: a controller works in a cgroup only when every parent hands it down. */
  async #handDown(path: string, names: readonly Controller[]): Promise<void> {
    const { files, mountPoint } = this.#options;
    let dir = mountPoint;
    for (const part of path.split('/').filter((each) => each !== '')) {
      const file = join(dir, 'cgroup.subtree_control');
      const given = (await files.read(file)).trim().split(/\s+/);
      const lacking = names.filter((name) => !given.includes(name));
      if (lacking.length > 0) await this.#write(file, lacking.map((name) => `+${name}`).join(' '));
      dir = join(dir, part);
      await files.make(dir);
    }
  }

  /** Sets limits of a cgroup that is there. Throws the first CgroupLimitError, after all were tried. */
  async limit(path: string, limits: CgroupLimits): Promise<void> {
    const { version, pageSizes } = this.#options;
    const names = await this.controllers();
    let failure: unknown;
    for (const { controller, file, text } of cgroupSettings(limits, version, pageSizes)) {
      if (!names.includes(controller)) continue;
      try {
        await this.#write(join(this.#directory(controller, path), file), text);
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  }

  async #write(file: string, text: string): Promise<void> {
    try {
      await this.#options.files.write(file, text);
    } catch (error) {
      throw new CgroupLimitError(file, text, error);
    }
  }

  /** Bytes in use; undefined when there is no such cgroup. */
  async memoryUsage(path: string): Promise<number | undefined> {
    const { files, version } = this.#options;
    const file = version === 2 ? 'memory.current' : 'memory.usage_in_bytes';
    try {
      return Number(await files.read(join(this.#directory('memory', path), file)));
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Names of the cgroups right below one, in any hierarchy. */
  async children(path: string): Promise<string[]> {
    const names = new Set<string>();
    for (const dir of await this.#everywhere(path)) {
      for (const name of await this.#options.files.directories(dir)) names.add(name);
    }
    return [...names];
  }

  /**
   * Removes the cgroup with all below it, and kills what still runs there. Nothing when it is gone. Throws when something
   * stays.
   */
  async remove(path: string): Promise<void> {
    for (const dir of await this.#everywhere(path)) await this.#removeTree(dir);
  }

  /** Version 1: in all that are mounted, as the runtime makes cgroups in more of them than pods are limited in. */
  async #everywhere(path: string): Promise<string[]> {
    const { files, mountPoint, version } = this.#options;
    if (version === 2) return [join(mountPoint, path)];
    return (await files.directories(mountPoint)).map((name) => join(mountPoint, name, path));
  }

  async #removeTree(dir: string): Promise<void> {
    const { files, clock } = this.#options;
    for (const child of await files.directories(dir)) await this.#removeTree(join(dir, child));
    for (let left = removal.tries; ; left--) {
      try {
        await files.remove(dir);
        return;
      } catch (error) {
        if (errorCode(error) === 'ENOENT') return;
        if (errorCode(error) !== 'EBUSY' || left === 0) throw error;
      }
      await this.#kill(dir);
      await clock.sleep(removal.pauseMs);
    }
  }

  async #kill(dir: string): Promise<void> {
    const { files } = this.#options;
    try {
      for (const pid of (await files.read(join(dir, 'cgroup.procs'))).split('\n')) {
        // 0 stands for a process of another PID namespace.
        if (Number(pid) > 1) files.kill(Number(pid));
      }
    } catch (error) {
      if (!['ENOENT', 'ENODEV'].includes(errorCode(error))) throw error;
    }
  }
}
