/**
 * The cgroups of pods: `<root>/<pods>/[burstable|besteffort]/pod<uid>`, cgroupfs driver, version 1 and 2. The runtime
 * puts containers below; here the pod level is made, limited and removed.
 */
import { mkdir, readdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { podQosClass } from '#api/core/v1/pod/resources.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { type CPUQuota, podCgroupLimits } from '#nodeagent/resources/container-resources.js';

export interface PodCgroupsOptions {
  /** Where the hierarchies are mounted; `/sys/fs/cgroup`. */
  readonly mountPoint: string;
  readonly version: 1 | 2;
  /** Absolute path below which everything is, such as `/` (`--cgroup-root`). */
  readonly root: string;
  /** Name of the cgroup of all pods. */
  readonly podsName: string;
  readonly quota: CPUQuota;
  /** Processes of each pod; not positive: as many as the machine has room for. */
  readonly pidsLimit: number;
  /** Told of limits that this machine does not let be set. */
  readonly onRefused: (path: string, error: unknown) => void;
}

const code = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

/** Weight of version 2 for shares of version 1. */
export function weightOfShares(shares: number): number {
  return Math.floor(1 + ((shares - 2) * 9999) / 262_142);
}

export class PodCgroups {
  readonly #options: PodCgroupsOptions;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  /** Where what the cgroups have used can be read. */
  get hierarchy(): Pick<PodCgroupsOptions, 'mountPoint' | 'version'> {
    return this.#options;
  }

  /** What the sandbox's `cgroupParent` is set to. */
  parentOf(pod: Pod): string {
    const qos = podQosClass(pod);
    const level = qos === 'Guaranteed' ? '' : qos.toLowerCase();
    return join(this.#options.root, this.#options.podsName, level, `pod${pod.metadata.uid}`);
  }

  /** Makes the pod's cgroup and sets its limits; idempotent. */
  async create(pod: Pod): Promise<void> {
    const parent = this.parentOf(pod);
    const limits = podCgroupLimits(pod, this.#options.quota);
    const { pidsLimit, quota } = this.#options;
    const { periodMicros } = quota;
    if (this.#options.version === 2) {
      const dir = join(this.#options.mountPoint, parent);
      await this.#enableControllers(parent);
      await mkdir(dir, { recursive: true });
      await this.#set(join(dir, 'cpu.weight'), String(weightOfShares(limits.cpuShares)));
      if (limits.cpuQuota !== undefined) await this.#set(join(dir, 'cpu.max'), `${limits.cpuQuota} ${periodMicros}`);
      if (limits.memoryLimitInBytes !== undefined) {
        await this.#set(join(dir, 'memory.max'), String(limits.memoryLimitInBytes));
      }
      if (pidsLimit > 0) await this.#set(join(dir, 'pids.max'), String(pidsLimit));
      return;
    }
    const make = async (controller: string): Promise<string | undefined> => {
      const dir = join(this.#options.mountPoint, controller, parent);
      try {
        await mkdir(dir, { recursive: true });
        return dir;
      } catch (error) {
        this.#options.onRefused(dir, error);
        return undefined;
      }
    };
    const cpu = await make('cpu');
    if (cpu !== undefined) {
      await this.#set(join(cpu, 'cpu.shares'), String(limits.cpuShares));
      if (limits.cpuQuota !== undefined) {
        await this.#set(join(cpu, 'cpu.cfs_period_us'), String(periodMicros));
        await this.#set(join(cpu, 'cpu.cfs_quota_us'), String(limits.cpuQuota));
      }
    }
    const pids = pidsLimit > 0 ? await make('pids') : undefined;
    if (pids !== undefined) await this.#set(join(pids, 'pids.max'), String(pidsLimit));
    const memory = await make('memory');
    if (memory !== undefined && limits.memoryLimitInBytes !== undefined) {
      await this.#set(join(memory, 'memory.limit_in_bytes'), String(limits.memoryLimitInBytes));
    }
  }

  /** Version 2: a controller works in a cgroup only when every parent hands it down. */
  async #enableControllers(parent: string): Promise<void> {
    const parts = parent.split('/').filter((part) => part !== '');
    let dir = this.#options.mountPoint;
    for (const part of parts) {
      await this.#set(join(dir, 'cgroup.subtree_control'), '+cpu +memory +pids');
      dir = join(dir, part);
      await mkdir(dir, { recursive: true });
    }
  }

  async #set(file: string, text: string): Promise<void> {
    try {
      await writeFile(file, text);
    } catch (error) {
      this.#options.onRefused(file, error);
    }
  }

  /** Version 1: all that are mounted, as the runtime makes cgroups in more of them than pods are limited in. */
  async #hierarchies(): Promise<string[]> {
    const { mountPoint, version } = this.#options;
    if (version === 2) return [mountPoint];
    const entries = await readdir(mountPoint, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => join(mountPoint, entry.name));
  }

  /** Removes the pod's cgroup with what is left below it, whatever its quality of service was. */
  async remove(podUID: string): Promise<void> {
    const { root, podsName } = this.#options;
    for (const hierarchy of await this.#hierarchies()) {
      for (const level of ['', 'burstable', 'besteffort']) {
        await this.#removeTree(join(hierarchy, root, podsName, level, `pod${podUID}`));
      }
    }
  }

  async #removeTree(dir: string): Promise<void> {
    let children: string[];
    try {
      const entries = await readdir(dir, { withFileTypes: true });
      children = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
    } catch (error) {
      if (code(error) === 'ENOENT') return;
      throw error;
    }
    for (const child of children) await this.#removeTree(join(dir, child));
    try {
      await rmdir(dir);
    } catch (error) {
      if (code(error) !== 'ENOENT') this.#options.onRefused(dir, error);
    }
  }
}
