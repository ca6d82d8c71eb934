/** Measures the disk usage of pods, of their volumes and logs, on request and at most once per period. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Clock, processClock } from '#apimachinery/clock.js';
import type { FilesystemState } from '#nodeagent/node/filesystem-usage.js';
import type { Machine } from '#nodeagent/node/machine.js';
import { type DiskUsage, diskUsage } from '#nodeagent/stats/disk-usage.js';

export interface VolumeUsage extends DiskUsage {
  readonly name: string;
  /** As in directory names: `empty-dir`. */
  readonly plugin: string;
  /** The file system that contains the volume, or what the volume's driver says. */
  readonly filesystem: FilesystemState | undefined;
  /** Absent if the volume's driver does not report its health. */
  readonly health?: VolumeHealth;
}

export interface VolumeHealth {
  readonly abnormal: boolean;
  readonly message: string;
}

/** Usage of a volume as its driver reports it. */
export interface DriverUsage {
  /** As in the result of `volumeName`. */
  readonly path: string;
  /** The volume's name in directories. */
  readonly specName: string;
  readonly driver: string;
  readonly filesystem: FilesystemState;
  readonly inodesUsed: number;
  readonly health?: VolumeHealth;
}

export interface StorageUsage {
  readonly timeMs: number;
  /** Without volumes that could not be measured. */
  readonly volumes: readonly VolumeUsage[];
  /** By container. */
  readonly logs: ReadonlyMap<string, DiskUsage>;
}

/** Method of a measurement, named as in 1.24: `du`, a directory walk; `statfs`, the file system's totals; or a driver. */
export type MeasuredWith = string;

export interface StorageMeterOptions {
  readonly clock: Clock;
  readonly machine: Pick<Machine, 'filesystem'>;
  /** The directory of a pod; absent on nodes that write no files. */
  readonly podDir: ((uid: string) => string) | undefined;
  readonly podLogsDir: string;
  /**
   * The pod's name for the volume in a directory, which may be named after the persistent volume. Default: the
   * directory's name.
   */
  readonly volumeName?: (uid: string, path: string) => string | undefined;
  /** Asks the drivers of a pod's volumes; absent: these volumes are not measured. */
  readonly drivers?: (uid: string) => Promise<readonly DriverUsage[]>;
  /** Called for each volume whose driver reports a problem, each time. */
  readonly onAbnormal?: (pod: Pod, volume: string, message: string) => void;
  /** Called with the duration of measuring a pod's volumes. */
  readonly onMeasured?: (source: MeasuredWith, ms: number) => void;
  /** 0 or less: volumes are not measured. */
  readonly periodMs: number;
}

/** Pods measured concurrently. */
const parallel = 2;
/** Limit of a request; slower measurements are in the next result. */
const requestTimeoutMs = 2000;
/** Volume types measured by their whole file system, which other pods may share. */
const wholeFilesystem = new Set(['nfs', 'local-volume']);

export class StorageMeter {
  readonly #options: StorageMeterOptions;
  #usage = new Map<string, StorageUsage>();
  readonly #measuring = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: StorageMeterOptions) {
    this.#options = options;
  }

  /** By pod UID, without pods that are not measured yet. Forgets pods that are not in `pods`. */
  async usage(pods: readonly Pod[]): Promise<ReadonlyMap<string, StorageUsage>> {
    const { clock, periodMs, podDir } = this.#options;
    if (periodMs <= 0 || podDir === undefined) return this.#usage;
    const uids = new Set(pods.map(({ metadata }) => metadata.uid ?? ''));
    this.#usage = new Map([...this.#usage].filter(([uid]) => uids.has(uid)));
    const firstMeasurements: Promise<void>[] = [];
    for (const pod of pods) {
      const usage = this.#usage.get(pod.metadata.uid ?? '');
      if (usage !== undefined && clock.monotonic() - usage.timeMs < periodMs) continue;
      const measured = this.#measure(pod, podDir);
      if (usage === undefined) firstMeasurements.push(measured);
    }
    if (firstMeasurements.length > 0) {
      const done = new AbortController();
      await Promise.race([Promise.all(firstMeasurements), processClock(clock).sleep(requestTimeoutMs, done.signal)]);
      done.abort();
    }
    return this.#usage;
  }

  /** Like `usage`, but measures the pods now, however long it takes. */
  async measure(pods: readonly Pod[]): Promise<ReadonlyMap<string, StorageUsage>> {
    const { podDir } = this.#options;
    if (podDir !== undefined) await Promise.all(pods.map((pod) => this.#measure(pod, podDir)));
    return this.#usage;
  }

  #measure(pod: Pod, podDir: (uid: string) => string): Promise<void> {
    const uid = pod.metadata.uid ?? '';
    const running = this.#measuring.get(uid);
    if (running !== undefined) return running;
    const measuring = this.#inTurn(async () => {
      const [volumes, driven, logs] = await Promise.all([
        this.#volumes(uid, podDir(uid)),
        this.#ofDrivers(pod),
        this.#logs(pod),
      ]);
      this.#usage.set(uid, { timeMs: this.#options.clock.monotonic(), volumes: [...volumes, ...driven], logs });
    }).finally(() => this.#measuring.delete(uid));
    this.#measuring.set(uid, measuring);
    return measuring;
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    if (this.#running >= parallel) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
    try {
      await work();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #volumes(uid: string, podDir: string): Promise<VolumeUsage[]> {
    const root = join(podDir, 'volumes');
    const volumeDirs: { name: string; plugin: string; path: string }[] = [];
    for (const plugin of await names(root)) {
      if (plugin.endsWith('~csi')) continue;
      for (const name of await names(join(root, plugin)))
        volumeDirs.push({ name, plugin: plugin.slice(plugin.indexOf('~') + 1), path: join(root, plugin, name) });
    }
    const walked = volumeDirs.filter(({ plugin }) => !wholeFilesystem.has(plugin)).map(({ path }) => path);
    const { clock, onMeasured } = this.#options;
    const began = clock.monotonic();
    const used = await diskUsage(walked);
    const ended = clock.monotonic();
    if (walked.length > 0) onMeasured?.('du', ended - began);
    const volumes = await Promise.all(
      volumeDirs.map(async ({ name, plugin, path }) => {
        const filesystem = await this.#options.machine.filesystem(path);
        const usage = wholeFilesystem.has(plugin) ? usageOf(filesystem) : used.get(path);
        const own = this.#options.volumeName?.(uid, path) ?? name;
        return usage === undefined ? [] : [{ name: own, plugin, filesystem, ...usage }];
      }),
    );
    if (volumeDirs.length > 0) onMeasured?.('statfs', clock.monotonic() - ended);
    return volumes.flat();
  }

  async #ofDrivers(pod: Pod): Promise<VolumeUsage[]> {
    const { drivers, clock, volumeName, onMeasured, onAbnormal } = this.#options;
    if (drivers === undefined) return [];
    const uid = pod.metadata.uid ?? '';
    const began = clock.monotonic();
    const volumes = await drivers(uid);
    return volumes.map(({ path, specName, driver, filesystem, inodesUsed, health }) => {
      onMeasured?.(driver, clock.monotonic() - began);
      const name = volumeName?.(uid, path) ?? specName;
      if (health?.abnormal === true) onAbnormal?.(pod, name, health.message);
      const { usedBytes } = filesystem;
      return { name, plugin: 'csi', filesystem, usedBytes, inodesUsed, ...(health && { health }) };
    });
  }

  async #logs({ metadata }: Pod): Promise<ReadonlyMap<string, DiskUsage>> {
    const dir = join(this.#options.podLogsDir, `${metadata.namespace}_${metadata.name}_${metadata.uid}`);
    const containers = await names(dir);
    const used = await diskUsage(containers.map((name) => join(dir, name)));
    return new Map(
      containers.flatMap((name) => {
        const usage = used.get(join(dir, name));
        return usage === undefined ? [] : [[name, usage] as const];
      }),
    );
  }
}

function usageOf(filesystem: FilesystemState | undefined): DiskUsage | undefined {
  if (filesystem === undefined) return undefined;
  const { usedBytes, inodes, inodesFree } = filesystem;
  return { usedBytes, inodesUsed: inodes - inodesFree };
}

async function names(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch {
    // The pod is gone, or has no such directory.
    return [];
  }
}
