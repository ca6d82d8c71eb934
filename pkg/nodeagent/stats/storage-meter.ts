/**
 * What pods hold on disk: their volumes and their containers' logs. Measured when somebody asks, at most once in a period.
 * Nobody asks, nothing is walked.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { FilesystemState } from '#nodeagent/node/filesystem-usage.js';
import type { Machine } from '#nodeagent/node/machine.js';
import { type DiskUsage, diskUsage } from '#nodeagent/stats/disk-usage.js';

export interface VolumeUsage extends DiskUsage {
  readonly name: string;
  /** As in the names of folders: `empty-dir`. */
  readonly plugin: string;
  /** That the volume is on. */
  readonly filesystem: FilesystemState | undefined;
}

export interface StorageUsage {
  readonly timeMs: number;
  /** Without those that could not be measured. */
  readonly volumes: readonly VolumeUsage[];
  /** By container. */
  readonly logs: ReadonlyMap<string, DiskUsage>;
}

/** What figures come from, by the names of 1.24: a walk, or those of a whole file system. */
export type MeasuredWith = 'du' | 'statfs';

export interface StorageMeterOptions {
  readonly clock: Clock;
  readonly machine: Pick<Machine, 'filesystem'>;
  /** The folder of a pod; absent on nodes that write no files. */
  readonly podDir: ((uid: string) => string) | undefined;
  readonly podLogsDir: string;
  /** The pod's name for the volume in a folder, which may be named after the persistent volume. Default: the folder's. */
  readonly volumeName?: (uid: string, path: string) => string | undefined;
  /** Told how long it took to measure the volumes of a pod. */
  readonly onMeasured?: (source: MeasuredWith, ms: number) => void;
  /** 0 or less: volumes are not measured. */
  readonly periodMs: number;
}

/** Pods that are measured together. */
const parallel = 2;
/** Longer than this no question waits; the figures come with the next. */
const patienceMs = 2000;
/** Whose figures are those of their file system: they are not the pod's alone. */
const wholeFilesystem = new Set(['nfs', 'local-volume', 'csi']);

export class StorageMeter {
  readonly #options: StorageMeterOptions;
  #known = new Map<string, StorageUsage>();
  readonly #measuring = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: StorageMeterOptions) {
    this.#options = options;
  }

  /** By the pods' UIDs; without those that are not known yet. Those of other pods are forgotten. */
  async usage(pods: readonly Pod[]): Promise<ReadonlyMap<string, StorageUsage>> {
    const { clock, periodMs, podDir } = this.#options;
    if (periodMs <= 0 || podDir === undefined) return this.#known;
    const uids = new Set(pods.map(({ metadata }) => metadata.uid ?? ''));
    this.#known = new Map([...this.#known].filter(([uid]) => uids.has(uid)));
    const unknown: Promise<void>[] = [];
    for (const pod of pods) {
      const known = this.#known.get(pod.metadata.uid ?? '');
      if (known !== undefined && clock.monotonic() - known.timeMs < periodMs) continue;
      const measured = this.#measure(pod, podDir);
      if (known === undefined) unknown.push(measured);
    }
    if (unknown.length > 0) {
      const done = new AbortController();
      await Promise.race([Promise.all(unknown), clock.sleep(patienceMs, done.signal)]);
      done.abort();
    }
    return this.#known;
  }

  #measure(pod: Pod, podDir: (uid: string) => string): Promise<void> {
    const uid = pod.metadata.uid ?? '';
    const running = this.#measuring.get(uid);
    if (running !== undefined) return running;
    const measuring = this.#inTurn(async () => {
      const [volumes, logs] = await Promise.all([this.#volumes(uid, podDir(uid)), this.#logs(pod)]);
      this.#known.set(uid, { timeMs: this.#options.clock.monotonic(), volumes, logs });
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
    const found: { name: string; plugin: string; path: string }[] = [];
    for (const plugin of await names(root)) {
      for (const name of await names(join(root, plugin)))
        found.push({ name, plugin: plugin.slice(plugin.indexOf('~') + 1), path: join(root, plugin, name) });
    }
    const walked = found.filter(({ plugin }) => !wholeFilesystem.has(plugin)).map(({ path }) => path);
    const { clock, onMeasured } = this.#options;
    const began = clock.monotonic();
    const used = await diskUsage(walked);
    const ended = clock.monotonic();
    if (walked.length > 0) onMeasured?.('du', ended - began);
    const volumes = await Promise.all(
      found.map(async ({ name, plugin, path }) => {
        const filesystem = await this.#options.machine.filesystem(path);
        const usage = wholeFilesystem.has(plugin) ? usageOf(filesystem) : used.get(path);
        const own = this.#options.volumeName?.(uid, path) ?? name;
        return usage === undefined ? [] : [{ name: own, plugin, filesystem, ...usage }];
      }),
    );
    if (found.length > 0) onMeasured?.('statfs', clock.monotonic() - ended);
    return volumes.flat();
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
    // The pod is gone, or has none.
    return [];
  }
}
