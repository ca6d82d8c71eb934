/** Measures what eviction decides on: the node's resources, and the usage of its pods. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { LatestValue } from '#apimachinery/async/latest-value.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { ContainerStats, CRI, FilesystemUsage } from '#nodeagent/cri/cri.js';
import { type ContainerUse, noDisk, type PodUse, type PodUses } from '#nodeagent/eviction/pod-usage.js';
import type { PodStorage } from '#nodeagent/eviction/storage-limits.js';
import type { FilesystemState } from '#nodeagent/node/filesystem-usage.js';
import type { Machine } from '#nodeagent/node/machine.js';
import type { Observation, Observations } from '#nodeagent/pressure/assessment.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import type { RuntimeContainer } from '#nodeagent/runtime/pod-runtime.js';
import type { CgroupMemory } from '#nodeagent/stats/cgroup-usage.js';
import type { UsageCollector } from '#nodeagent/stats/collector.js';
import type { StorageMeter, StorageUsage } from '#nodeagent/stats/storage-meter.js';

export interface MeasurementsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly cri: Pick<CRI, 'imageFsInfo' | 'listContainerStats'>;
  readonly machine: Pick<Machine, 'facts' | 'state' | 'memoryAvailableBytes' | 'filesystem' | 'nodeFilesystem'>;
  readonly observer: Pick<RuntimeObserver, 'get'>;
  readonly collector: Pick<UsageCollector, 'collect'>;
  readonly meter: Pick<StorageMeter, 'usage' | 'measure'>;
  /** Memory of the cgroup of all pods; absent if they have none. */
  readonly podsMemory?: () => Promise<CgroupMemory | undefined>;
}

/** How long a pass waits for the runtime's disks; afterwards the last answer counts. */
const runtimeWaitMs = 1000;

export class Measurements {
  readonly #options: MeasurementsOptions;
  readonly #imageDisks: LatestValue<readonly FilesystemUsage[]>;
  #hasImageFilesystem: boolean | undefined;
  /** The memory of the machine. */
  #memoryBytes: number | undefined;

  constructor(options: MeasurementsOptions) {
    const { clock, cri, log } = options;
    this.#options = options;
    this.#imageDisks = new LatestValue({
      ...{ clock, waitMs: runtimeWaitMs, ask: () => cri.imageFsInfo() },
      onFailure: (error) => log.debug({ err: error }, 'reading the file system of the images failed'),
    });
  }

  /** The values that eviction thresholds are compared with. */
  async observations(): Promise<Observations> {
    const { machine, clock } = this.#options;
    const [state, images] = await Promise.all([machine.state(), this.#imageFilesystem()]);
    const memory = await this.#memory(state.memoryAvailableBytes);
    const timeMs = clock.monotonic();
    const observation = (available: number, capacity: number): Observation => ({ available, capacity, timeMs });
    return {
      ...memory,
      'nodefs.available': observation(state.storageAvailableBytes, state.storageCapacityBytes),
      // Some file systems create inodes on demand.
      ...(state.inodes === 0 ? {} : { 'nodefs.inodesFree': observation(state.inodesFree, state.inodes) }),
      ...(images === undefined
        ? {}
        : { 'imagefs.available': observation(images.availableBytes, images.capacityBytes) }),
      ...(images === undefined || images.inodes === 0
        ? {}
        : { 'imagefs.inodesFree': observation(images.inodesFree, images.inodes) }),
      ...(state.maxProcesses === 0
        ? {}
        : { 'pid.available': observation(state.maxProcesses - state.processes, state.maxProcesses) }),
    };
  }

  /** Those of memory only, which are cheap. */
  async memory(): Promise<Observations> {
    return this.#memory(await this.#options.machine.memoryAvailableBytes());
  }

  async #memory(availableBytes: number): Promise<Observations> {
    const { machine, clock, podsMemory } = this.#options;
    this.#memoryBytes ??= (await machine.facts()).memoryBytes;
    const pods = await podsMemory?.();
    const timeMs = clock.monotonic();
    const node: Observation = { available: availableBytes, capacity: this.#memoryBytes, timeMs };
    // Without a limit, pods may use all memory of the node.
    if (pods?.limitBytes === undefined) return { 'memory.available': node };
    const { limitBytes: capacity, workingSetBytes } = pods;
    const available = Math.max(0, capacity - workingSetBytes);
    return { 'memory.available': node, 'allocatableMemory.available': { available, capacity, timeMs } };
  }

  /** Whether images and writable layers are on another file system than the agent's files. False while unknown. */
  async hasImageFilesystem(): Promise<boolean> {
    if (this.#hasImageFilesystem !== undefined) return this.#hasImageFilesystem;
    const [images, own] = await Promise.all([this.#imageFilesystem(), this.#options.machine.nodeFilesystem()]);
    if (images?.device === undefined || own?.device === undefined) return false;
    this.#hasImageFilesystem = images.device !== own.device;
    return this.#hasImageFilesystem;
  }

  /** Never rejects. */
  async #imageFilesystem(): Promise<FilesystemState | undefined> {
    const { machine, log } = this.#options;
    try {
      const [mounted] = (await this.#imageDisks.refresh()) ?? [];
      return mounted === undefined || mounted.mountpoint === ''
        ? undefined
        : await machine.filesystem(mounted.mountpoint);
    } catch (error) {
      log.debug({ err: error }, 'reading the file system of the images failed');
      return undefined;
    }
  }

  /** Disk usage by pod UID, without pods that could not be measured. Throws CRIError. */
  async storage(pods: readonly Pod[]): Promise<ReadonlyMap<string, PodStorage>> {
    const { cri, meter } = this.#options;
    const measured = await meter.usage(pods);
    if (pods.length === 0) return new Map();
    const stats = new Map((await cri.listContainerStats()).map((each) => [each.id, each]));
    return this.#storageOf(pods, measured, stats);
  }

  #storageOf(
    pods: readonly Pod[],
    measured: ReadonlyMap<string, StorageUsage>,
    stats: ReadonlyMap<string, ContainerStats>,
  ): ReadonlyMap<string, PodStorage> {
    return new Map(
      pods.flatMap(({ metadata: { uid = '' } }) => {
        const runtime = this.#options.observer.get(uid);
        const usage = measured.get(uid);
        return runtime === undefined || usage === undefined
          ? []
          : [[uid, podStorage(runtime.containers, usage, stats)] as const];
      }),
    );
  }

  /**
   * Usage by pod UID, without pods of which nothing runs. `onDisk`: also that of disks, whatever their size, which may
   * take long. Throws CRIError.
   */
  async uses(pods: readonly Pod[], { onDisk }: { readonly onDisk: boolean }): Promise<PodUses> {
    const { collector, meter } = this.#options;
    const [usage, measured] = await Promise.all([collector.collect(), onDisk ? meter.measure(pods) : undefined]);
    const storage =
      measured === undefined ? new Map<string, PodStorage>() : this.#storageOf(pods, measured, usage.stats);
    return new Map(
      usage.pods.map(({ uid, workingSetBytes, containers }): [string, PodUse] => {
        const memory = new Map(containers.map((each) => [each.name, each.workingSetBytes]));
        const { volumes, containers: disks } = storage.get(uid) ?? noStorage;
        const names = new Set([...disks, ...containers].map(({ name }) => name).filter((name) => name !== ''));
        const none = { rootfs: noDisk, logs: noDisk };
        return [
          uid,
          {
            memoryBytes: workingSetBytes,
            processes: containers.reduce((sum, { cgroup }) => sum + (cgroup?.processes ?? 0), 0),
            containers: [...names].map((name) => ({
              ...(disks.find((each) => each.name === name) ?? { name, ...none }),
              memoryBytes: memory.get(name),
            })),
            volumes,
          },
        ];
      }),
    );
  }
}

const noStorage: PodStorage = { volumes: new Map(), containers: [] };

/** `containers`: newest first; layers of earlier runs do not count. */
function podStorage(
  containers: readonly RuntimeContainer[],
  { volumes, logs }: StorageUsage,
  stats: ReadonlyMap<string, ContainerStats>,
): PodStorage {
  const names = [...new Set([...containers.map(({ metadata }) => metadata.name), ...logs.keys()])];
  return {
    volumes: new Map(
      volumes.map(({ name, usedBytes, inodesUsed }) => [name, { bytes: usedBytes, inodes: inodesUsed }]),
    ),
    containers: names.map((name): ContainerUse => {
      const newest = containers.find(({ metadata }) => metadata.name === name);
      const layer = newest === undefined ? undefined : stats.get(newest.id);
      const log = logs.get(name);
      return {
        name,
        memoryBytes: undefined,
        rootfs: { bytes: layer?.writableLayerUsedBytes ?? 0, inodes: layer?.writableLayerInodesUsed ?? 0 },
        logs: { bytes: log?.usedBytes ?? 0, inodes: log?.inodesUsed ?? 0 },
      };
    }),
  };
}
