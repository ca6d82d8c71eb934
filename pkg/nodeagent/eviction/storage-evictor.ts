/** Evicts pods that use more disk space than their own limits allow, as release 1.24 does. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { addQuantities, canonicalQuantity, compareQuantities, value } from '#apimachinery/quantity.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import type { PodFailure } from '#nodeagent/pods/lifecycle.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import type { StorageMeter, StorageUsage } from '#nodeagent/stats/storage-meter.js';

/** Disk usage of a pod in bytes. */
export interface PodStorage {
  /** By volume; volumes without a measurement are not checked. */
  readonly volumes: ReadonlyMap<string, number>;
  /** By container: its writable layer and its logs. */
  readonly containers: ReadonlyMap<string, number>;
}

/** The exceeded limit, as 1.24 names it in its metrics. */
export const storageSignals = ['emptydirfs.limit', 'ephemeralpodfs.limit', 'ephemeralcontainerfs.limit'] as const;
export type StorageSignal = (typeof storageSignals)[number];

export interface StorageExcess {
  readonly signal: StorageSignal;
  /** 1.24's text, which ends in a space. */
  readonly message: string;
}

const resource = 'ephemeral-storage';

/** False for pods without storage limits; their usage is not measured. */
export function hasStorageLimits({ spec }: Pod): boolean {
  return (
    (spec.volumes ?? []).some(({ emptyDir }) => isPositive(emptyDir?.sizeLimit)) ||
    [...spec.containers, ...(spec.initContainers ?? [])].some(({ resources }) => resources?.limits?.[resource])
  );
}

/** Why the pod must be evicted; undefined if it is within its limits. */
export function storageExcess(pod: Pod, held: PodStorage): StorageExcess | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const limit = emptyDir?.sizeLimit;
    const used = held.volumes.get(name);
    if (limit === undefined || used === undefined || !isPositive(limit) || used <= value(limit)) continue;
    const message = `Usage of EmptyDir volume "${name}" exceeds the limit "${canonicalQuantity(limit)}". `;
    return { signal: 'emptydirfs.limit', message };
  }
  const limit = podLimit(pod);
  if (limit !== undefined && total(pod, held) > value(limit)) {
    const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${canonicalQuantity(limit)}. `;
    return { signal: 'ephemeralpodfs.limit', message };
  }
  for (const { name, resources } of pod.spec.containers) {
    const own = resources?.limits?.[resource];
    if (own === undefined || (held.containers.get(name) ?? 0) <= value(own)) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit "${canonicalQuantity(own)}". `;
    return { signal: 'ephemeralcontainerfs.limit', message };
  }
  return undefined;
}

const isPositive = (quantity: string | undefined): boolean => quantity !== undefined && value(quantity) > 0;

/** Sum of the containers' limits, or the largest limit of an init container. */
function podLimit({ spec }: Pod): string | undefined {
  const limitsOf = (containers: Pod['spec']['containers']) =>
    containers.flatMap(({ resources }) => resources?.limits?.[resource] ?? []);
  const [first, ...rest] = limitsOf(spec.containers);
  const sum = first === undefined ? undefined : rest.reduce(addQuantities, first);
  return [...(sum === undefined ? [] : [sum]), ...limitsOf(spec.initContainers ?? [])].reduce<string | undefined>(
    (most, each) => (most === undefined || compareQuantities(each, most) > 0 ? each : most),
    undefined,
  );
}

/** Memory volumes, claims and host paths do not count. */
function total({ spec }: Pod, { volumes, containers }: PodStorage): number {
  let bytes = 0;
  for (const { name, emptyDir, configMap, downwardAPI } of spec.volumes ?? []) {
    const isOnDisk = emptyDir !== undefined && (emptyDir.medium ?? '') === '';
    if (isOnDisk || configMap !== undefined || downwardAPI !== undefined) bytes += volumes.get(name) ?? 0;
  }
  for (const used of containers.values()) bytes += used;
  return bytes;
}

export interface StorageEvictorOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly cri: Pick<RuntimeService, 'listContainerStats'>;
  readonly observer: Pick<RuntimeObserver, 'get'>;
  readonly meter: Pick<StorageMeter, 'usage'>;
  /** Pods of the node that may be evicted and have not ended. */
  readonly pods: () => readonly Pod[];
  /** False for a pod that is already ending. */
  readonly evict: (uid: string, failure: PodFailure) => boolean;
  /** Called once per pod. */
  readonly onEvicted: (signal: StorageSignal) => void;
}

/** Period of checks, as in 1.24. */
export const checkPeriodMs = 10_000;

export class StorageEvictor {
  readonly #options: StorageEvictorOptions;

  constructor(options: StorageEvictorOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(checkPeriodMs, signal);
      if (signal.aborted) return;
      try {
        await this.checkPods();
      } catch (error) {
        log.warn({ err: error }, 'measuring the storage usage of pods failed');
      }
    }
  }

  /** Checks all pods with limits; nodes without such pods measure nothing. */
  async checkPods(): Promise<void> {
    const { cri, observer, meter, pods, evict, onEvicted } = this.#options;
    const limited = pods().filter(hasStorageLimits);
    const usage = await meter.usage(limited);
    if (limited.length === 0) return;
    const written = new Map(
      (await cri.listContainerStats()).map(({ id, writableLayerUsedBytes }) => [id, writableLayerUsedBytes] as const),
    );
    for (const pod of limited) {
      const uid = pod.metadata.uid ?? '';
      const runtime = observer.get(uid);
      const podUsage = usage.get(uid);
      if (runtime === undefined || podUsage === undefined) continue;
      const layers = new Map<string, number>();
      // Newest containers come first; layers of earlier runs do not count.
      for (const { id, metadata } of runtime.containers) {
        if (!layers.has(metadata.name)) layers.set(metadata.name, written.get(id) ?? 0);
      }
      const excess = storageExcess(pod, podStorage(podUsage, layers));
      if (excess === undefined) continue;
      const { signal, message } = excess;
      if (evict(uid, { reason: 'Evicted', message, isEviction: true, graceSeconds: 0 })) onEvicted(signal);
    }
  }
}

function podStorage({ volumes, logs }: StorageUsage, layers: ReadonlyMap<string, number>): PodStorage {
  const containers = new Map([...logs].map(([name, { usedBytes }]) => [name, usedBytes]));
  for (const [name, bytes] of layers) containers.set(name, (containers.get(name) ?? 0) + bytes);
  return { volumes: new Map(volumes.map(({ name, usedBytes }) => [name, usedBytes])), containers };
}
