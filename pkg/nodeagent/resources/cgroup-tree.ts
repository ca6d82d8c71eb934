/** Cgroups by their paths: made, limited, removed. Version 1 has a tree of them for each controller, version 2 one. */
import { dirname, join } from 'node:path';
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
import { nameOfSlice, sliceName, slicePath } from '#nodeagent/resources/slices.js';
import type { Units } from '#nodeagent/resources/systemd-units.js';

export interface CgroupTreeOptions {
  readonly files: CgroupFiles;
  readonly clock: Clock;
  /** Where the hierarchies are mounted; `/sys/fs/cgroup`. */
  readonly mountPoint: string;
  readonly version: CgroupVersion;
  /** Of the machine's huge pages, in bytes. */
  readonly pageSizes: readonly number[];
  /** Cgroups are slices of systemd, which is told of each; absent: they are directories and nothing else. */
  readonly units?: Units;
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

  /** Where a cgroup lies below the mount point: what runtimes are told. */
  locate(path: string): string {
    return this.#options.units === undefined ? path : slicePath(path);
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
  #directory(controller: string, path: string): string {
    const { mountPoint, version } = this.#options;
    const place = this.locate(path);
    return version === 2 ? join(mountPoint, place) : join(mountPoint, controller, place);
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
    const { units } = this.#options;
    if (units !== undefined && sliceName(path) !== sliceName('/'))
      await units.start(sliceName(path), sliceName(dirname(path)));
    // systemd gives a slice those controllers only that it knows of.
    if (this.#options.version === 2) {
      await this.#handDown(this.locate(path), names);
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
    const { version, pageSizes, units } = this.#options;
    const names = await this.controllers();
    // What systemd was not told, it would set back.
    await units?.set(sliceName(path), limits);
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
    const { files, units } = this.#options;
    const names = new Set<string>();
    for (const dir of await this.#everywhere(path)) {
      for (const name of await files.directories(dir)) names.add((units && nameOfSlice(name)) ?? name);
    }
    return [...names];
  }

  /**
   * Removes the cgroup with all below it, and kills what still runs there. Nothing when it is gone. Throws when something
   * stays.
   */
  async remove(path: string): Promise<void> {
    const { files, units } = this.#options;
    const dirs = await this.#everywhere(path);
    const there = units === undefined || (await Promise.all(dirs.map((dir) => files.exists(dir)))).includes(true);
    for (const dir of dirs) await this.#removeTree(dir);
    if (there) await units?.stop(sliceName(path));
  }

  /** Version 1: in all that are mounted, as the runtime makes cgroups in more of them than pods are limited in. */
  async #everywhere(path: string): Promise<string[]> {
    const { files, mountPoint, version } = this.#options;
    const place = this.locate(path);
    if (version === 2) return [join(mountPoint, place)];
    return (await files.directories(mountPoint)).map((name) => join(mountPoint, name, place));
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

  /** Processes that are in no cgroup but the root. */
  async unbound(): Promise<number[]> {
    const { files, mountPoint, version } = this.#options;
    if (version === 2) return this.#processes(mountPoint);
    // Services are told apart by their devices nearly everywhere.
    const devices = join(mountPoint, 'devices');
    const hasDevices = await files.exists(join(devices, 'cgroup.procs'));
    return this.#processes(hasDevices ? devices : join(mountPoint, 'memory'));
  }

  /** Moves a process there, with its threads; the cgroup is made where it is not there. */
  async enter(path: string, pid: number): Promise<void> {
    const { files, version } = this.#options;
    await this.create(path);
    const names = version === 2 ? ['cpu'] : await this.#counting();
    for (const dir of new Set(names.map((name) => this.#directory(name, path)))) {
      await files.make(dir);
      await this.#write(join(dir, 'cgroup.procs'), String(pid));
    }
  }

  /** @param membership A process's lines of a number, controllers and a path, as the kernel shows them. */
  async holds(path: string, membership: string): Promise<boolean> {
    const { version } = this.#options;
    const wanted = version === 2 ? [''] : await this.#counting();
    const places = new Map<string, string>();
    for (const [, names = '', place = ''] of membership.matchAll(/^\d+:([^:\n]*):(.+)$/gm)) {
      for (const name of names.split(',')) places.set(name, place);
    }
    return wanted.every((name) => places.get(name) === this.locate(path));
  }

  /** Of the hierarchies of version 1, those in which something is limited or counted. */
  async #counting(): Promise<string[]> {
    const { files, mountPoint } = this.#options;
    const names = [...controllers, 'cpuacct', 'blkio'];
    const there = await Promise.all(names.map((name) => files.exists(join(mountPoint, name, 'cgroup.procs'))));
    return names.filter((_, i) => there[i]);
  }

  /** 0 stands for a process of another PID namespace. */
  async #processes(dir: string): Promise<number[]> {
    const text = await this.#options.files.read(join(dir, 'cgroup.procs'));
    return text
      .split('\n')
      .map(Number)
      .filter((pid) => pid > 0);
  }

  async #kill(dir: string): Promise<void> {
    const { files } = this.#options;
    try {
      for (const pid of await this.#processes(dir)) if (pid > 1) files.kill(pid);
    } catch (error) {
      if (!['ENOENT', 'ENODEV'].includes(errorCode(error))) throw error;
    }
  }
}
