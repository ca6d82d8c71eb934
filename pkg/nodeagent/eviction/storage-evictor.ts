/** Evicts the pods that hold more on disk than their limits allow. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';
import {
  hasStorageLimits,
  type StorageHeld,
  type StorageSignal,
  storageExcess,
} from '#nodeagent/eviction/storage-limits.js';
import type { PodFailure } from '#nodeagent/pods/lifecycle.js';
import type { RuntimeObserver } from '#nodeagent/runtime/observer.js';
import type { StorageMeter, StorageUsage } from '#nodeagent/stats/storage-meter.js';

export interface StorageEvictorOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly cri: Pick<RuntimeService, 'listContainerStats'>;
  readonly observer: Pick<RuntimeObserver, 'get'>;
  readonly meter: Pick<StorageMeter, 'usage'>;
  /** Pods of the node that may be evicted and have not ended. */
  readonly pods: () => readonly Pod[];
  /** False for a pod that ends already. */
  readonly evict: (uid: string, failure: PodFailure) => boolean;
  /** Told of each pod once. */
  readonly onEvicted: (signal: StorageSignal) => void;
}

/** As 1.24 looks. */
export const lookMs = 10_000;

export class StorageEvictor {
  readonly #options: StorageEvictorOptions;

  constructor(options: StorageEvictorOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(lookMs, signal);
      if (signal.aborted) return;
      try {
        await this.look();
      } catch (error) {
        log.warn({ err: error }, 'what pods hold on disk could not be measured');
      }
    }
  }

  /** One look at all pods that have limits; nodes without such pods measure nothing. */
  async look(): Promise<void> {
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
      const known = usage.get(uid);
      if (runtime === undefined || known === undefined) continue;
      const layers = new Map<string, number>();
      // The newest of a name comes first; what its predecessors left is not its own.
      for (const { id, metadata } of runtime.containers) {
        if (!layers.has(metadata.name)) layers.set(metadata.name, written.get(id) ?? 0);
      }
      const excess = storageExcess(pod, heldBy(known, layers));
      if (excess === undefined) continue;
      const { signal, message } = excess;
      if (evict(uid, { reason: 'Evicted', message, isEviction: true, graceSeconds: 0 })) onEvicted(signal);
    }
  }
}

function heldBy({ volumes, logs }: StorageUsage, layers: ReadonlyMap<string, number>): StorageHeld {
  const containers = new Map([...logs].map(([name, { usedBytes }]) => [name, usedBytes]));
  for (const [name, bytes] of layers) containers.set(name, (containers.get(name) ?? 0) + bytes);
  return { volumes: new Map(volumes.map(({ name, usedBytes }) => [name, usedBytes])), containers };
}
