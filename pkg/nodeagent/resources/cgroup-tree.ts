/** Creates, limits and removes cgroups by path. Version 1 has a tree per controller, version 2 a single one. */
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
  /** Mount point of the hierarchies, `/sys/fs/cgroup`. */
  readonly mountPoint: string;
  readonly version: CgroupVersion;
  /** The machine's huge page sizes, in bytes. */
  readonly pageSizes: readonly number[];
  /** Set if systemd manages the cgroups as slices; absent: they are plain directories. */
  readonly units?: Units;
}

/** The kernel rejected a limit. */
export class CgroupLimitError extends Error {
  constructor(file: string, text: string, cause: unknown) {
    super(`writing ${JSON.stringify(text)} to ${file}: ${messageOf(cause)}`, { cause });
  }
}

/** The standard mount point. */
export const cgroupMountPoint = '/sys/fs/cgroup';

/** Killed processes need a while to disappear. */
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

  /** A cgroup's path below the mount point, as runtimes expect it. */
  locate(path: string): string {
    return this.#options.units === undefined ? path : slicePath(path);
  }

  /** The subset of `controllers` that the machine has. */
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
    const exist = await Promise.all(controllers.map((name) => files.exists(join(mountPoint, name, 'cgroup.procs'))));
    return controllers.filter((_, i) => exist[i]);
  }

  /** A cgroup's directory for a controller; several controllers may share one. */
  #directory(controller: string, path: string): string {
    const { mountPoint, version } = this.#options;
    const place = this.locate(path);
    return version === 2 ? join(mountPoint, place) : join(mountPoint, controller, place);
  }

  /** Directories of a cgroup that do not exist. */
  async missingDirectories(path: string): Promise<string[]> {
    const dirs = [...new Set((await this.controllers()).map((name) => this.#directory(name, path)))];
    const exist = await Promise.all(dirs.map((dir) => this.#options.files.exists(dir)));
    return dirs.filter((_, i) => !exist[i]);
  }

  /** Creates the cgroup and its parents if missing. Throws the kernel's error. */
  async create(path: string): Promise<void> {
    const { units } = this.#options;
    if (units !== undefined && sliceName(path) !== sliceName('/'))
      await units.start(sliceName(path), sliceName(dirname(path)));
    // systemd enables only the controllers that it manages.
    if (this.#options.version === 2) {
      await this.#enableControllers(this.locate(path), await this.#unifiedControllers());
      return;
    }
    for (const name of await this.controllers()) await this.#options.files.make(this.#directory(name, path));
  }

  /** Version 2: what the cgroups of pods get, as in 1.24; the runtime gives containers CPUs of their own by `cpuset`. */
  async #unifiedControllers(): Promise<readonly string[]> {
    const { files, mountPoint } = this.#options;
    const names = (await files.read(join(mountPoint, 'cgroup.controllers'))).trim().split(/\s+/);
    return ['cpu', 'cpuset', 'memory', 'pids', 'hugetlb'].filter((name) => names.includes(name));
  }

  /** Version 2: a controller works in a cgroup only if every parent enables it. */
  async #enableControllers(path: string, names: readonly string[]): Promise<void> {
    const { files, mountPoint } = this.#options;
    let dir = mountPoint;
    for (const part of path.split('/').filter((each) => each !== '')) {
      const file = join(dir, 'cgroup.subtree_control');
      const enabled = (await files.read(file)).trim().split(/\s+/);
      const disabled = names.filter((name) => !enabled.includes(name));
      if (disabled.length > 0) await this.#write(file, disabled.map((name) => `+${name}`).join(' '));
      dir = join(dir, part);
      await files.make(dir);
    }
  }

  /** Limits an existing cgroup. Throws the first CgroupLimitError after trying all limits. */
  async limit(path: string, limits: CgroupLimits): Promise<void> {
    const { version, pageSizes, units } = this.#options;
    const names = await this.controllers();
    // Otherwise systemd would reset the limits.
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

  /** Bytes in use; undefined if the cgroup does not exist. */
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

  /** Names of a cgroup's children in any hierarchy. */
  async children(path: string): Promise<string[]> {
    const { files, units } = this.#options;
    const names = new Set<string>();
    for (const dir of await this.#directories(path)) {
      for (const name of await files.directories(dir)) names.add((units && nameOfSlice(name)) ?? name);
    }
    return [...names];
  }

  /** Kills the cgroup's processes and removes it with its children, if it exists. Throws if something stays. */
  async remove(path: string): Promise<void> {
    const { files, units } = this.#options;
    const dirs = await this.#directories(path);
    const exists = units === undefined || (await Promise.all(dirs.map((dir) => files.exists(dir)))).includes(true);
    for (const dir of dirs) await this.#removeTree(dir);
    if (exists) await units?.stop(sliceName(path));
  }

  /** Version 1: covers all mounted hierarchies, since the runtime uses more of them than this agent limits. */
  async #directories(path: string): Promise<string[]> {
    const { files, mountPoint, version } = this.#options;
    const place = this.locate(path);
    if (version === 2) return [join(mountPoint, place)];
    return (await files.directories(mountPoint)).map((name) => join(mountPoint, name, place));
  }

  async #removeTree(dir: string): Promise<void> {
    const { files, clock } = this.#options;
    for (const child of await files.directories(dir)) await this.#removeTree(join(dir, child));
    for (let triesLeft = removal.tries; ; triesLeft--) {
      try {
        await files.remove(dir);
        return;
      } catch (error) {
        if (errorCode(error) === 'ENOENT') return;
        if (errorCode(error) !== 'EBUSY' || triesLeft === 0) throw error;
      }
      await this.#kill(dir);
      await clock.sleep(removal.pauseMs);
    }
  }

  /** Processes that are in the root cgroup. */
  async processesInRoot(): Promise<number[]> {
    const { files, mountPoint, version } = this.#options;
    if (version === 2) return this.#processes(mountPoint);
    // Nearly every system puts its services into device cgroups.
    const devices = join(mountPoint, 'devices');
    const hasDevices = await files.exists(join(devices, 'cgroup.procs'));
    return this.#processes(hasDevices ? devices : join(mountPoint, 'memory'));
  }

  /** Moves a process with its threads; creates the cgroup if missing. */
  async enter(path: string, pid: number): Promise<void> {
    const { files, version } = this.#options;
    await this.create(path);
    const names = version === 2 ? ['cpu'] : await this.#accountingHierarchies();
    for (const dir of new Set(names.map((name) => this.#directory(name, path)))) {
      await files.make(dir);
      await this.#write(join(dir, 'cgroup.procs'), String(pid));
    }
  }

  /** Whether a process is in the cgroup. `membership`: the lines of `/proc/<pid>/cgroup`. */
  async holds(path: string, membership: string): Promise<boolean> {
    const { version } = this.#options;
    const controllersToCheck = version === 2 ? [''] : await this.#accountingHierarchies();
    const places = new Map<string, string>();
    for (const [, names = '', place = ''] of membership.matchAll(/^\d+:([^:\n]*):(.+)$/gm)) {
      for (const name of names.split(',')) places.set(name, place);
    }
    return controllersToCheck.every((name) => places.get(name) === this.locate(path));
  }

  /** The hierarchies of version 1 that limit or count something. */
  async #accountingHierarchies(): Promise<string[]> {
    const { files, mountPoint } = this.#options;
    const names = [...controllers, 'cpuacct', 'blkio'];
    const exist = await Promise.all(names.map((name) => files.exists(join(mountPoint, name, 'cgroup.procs'))));
    return names.filter((_, i) => exist[i]);
  }

  /** Without 0, which stands for a process of another PID namespace. */
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
