/**
 * Keeps the node alive when its resources run short, as release 1.24's eviction manager does: removes what nothing uses,
 * then evicts one pod at a time, and reports the node's pressure.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Clock, upkeepClock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { Measurements } from '#nodeagent/eviction/measurements.js';
import { evictionTexts } from '#nodeagent/eviction/message.js';
import { rankForEviction } from '#nodeagent/eviction/ranking.js';
import { hasStorageLimits, type StorageSignal, storageExcess } from '#nodeagent/eviction/storage-limits.js';
import type { NodeEvents } from '#nodeagent/node/node-events.js';
import { podGraceSeconds } from '#nodeagent/pods/container-killer.js';
import type { PodFailure } from '#nodeagent/pods/lifecycle.js';
import type { EvictionProgress } from '#nodeagent/pods/manager.js';
import { assess, isReclaimed, noPressure, type PressureState } from '#nodeagent/pressure/assessment.js';
import { type PressureCondition, resourceOf, type Signal, type Threshold } from '#nodeagent/pressure/thresholds.js';

/** The pods of the node. */
export interface EvictablePods {
  /** Those that have not ended, in their last version. */
  active(): readonly Pod[];
  /** Static pods, and those of the system's priorities, are never evicted. */
  isCritical(pod: Pod): boolean;
  evict(uid: string, failure: PodFailure): EvictionProgress;
  /** True once nothing of the pod runs. */
  isOver(uid: string): boolean;
  /** True once the runtime has nothing of the pod. */
  isReleased(uid: string): boolean;
  /** Removes the containers and logs of evicted pods that have ended. Never rejects. */
  removeEvicted(): Promise<void>;
}

export interface EvictorMetrics {
  evicted(signal: Signal | StorageSignal): void;
  /** The age of the measurements on which an eviction is based. */
  measuredBefore(signal: Signal, seconds: number): void;
}

export interface EvictorOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly thresholds: readonly Threshold[];
  readonly transitionMs: number;
  /** Grace period of pods that a soft threshold evicts; 0 or less: their own. */
  readonly maxPodGraceSeconds: number;
  /** Pods may not exceed their own limits of local storage. */
  readonly limitsStorage: boolean;
  readonly measurements: Pick<Measurements, 'observations' | 'hasImageFilesystem' | 'storage' | 'uses'>;
  readonly pods: EvictablePods;
  /** Removes what nothing uses from the file system of images: dead containers, then images. Rejects on failure. */
  readonly reclaimImages: readonly (() => Promise<void>)[];
  readonly nodeEvents: Pick<NodeEvents, 'record'>;
  readonly podEvents: Pick<PodEvents, 'pod'>;
  readonly metrics: EvictorMetrics;
  /** Called when the node's conditions have changed. */
  readonly onChange: () => void;
}

/** Period of checks, as in 1.24. */
export const checkPeriodMs = 10_000;
/** How long a killed pod may need to end, and then to release its resources, before the next check; as in 1.24. */
const killMs = 10_000;
const cleanupMs = 30_000;
const pollMs = 1000;
/** 1.24 gives every pod at least this much time. */
const minimumGraceSeconds = 1;

export class Evictor {
  readonly #options: EvictorOptions;
  #state: PressureState = noPressure;
  #wake: (() => void) | undefined;
  #isWoken = false;

  constructor(options: EvictorOptions) {
    this.#options = options;
  }

  /** The node's conditions at the last check. */
  get conditions(): readonly PressureCondition[] {
    return this.#state.conditions;
  }

  /** Checks now rather than at the end of the period. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, thresholds, limitsStorage } = this.#options;
    if (thresholds.length === 0 && !limitsStorage) return;
    while (!signal.aborted) {
      let evicted: readonly EvictedPod[] = [];
      this.#isWoken = false;
      try {
        evicted = await this.check();
      } catch (error) {
        log.warn({ err: error }, 'checking the resources of the node failed');
      }
      if (signal.aborted) return;
      if (evicted.length > 0) await this.#untilReleased(evicted, signal);
      else {
        await this.#options.pods.removeEvicted();
        const woken = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        if (!this.#isWoken) await Promise.race([upkeepClock(clock).sleep(checkPeriodMs, signal), woken]);
      }
    }
  }

  /** Returns the pods that are being evicted. Throws CRIError if the runtime does not answer. */
  async check(): Promise<readonly EvictedPod[]> {
    const { clock, measurements, thresholds, transitionMs, limitsStorage, onChange } = this.#options;
    const observations = await measurements.observations();
    const before = this.#state.conditions;
    const nowMs = clock.monotonic();
    const { state, starved } = assess({ thresholds, transitionMs, observations, state: this.#state, nowMs });
    this.#state = state;
    if (state.conditions.join() !== before.join()) onChange();
    if (limitsStorage) {
      const evicted = await this.#enforceLimits();
      if (evicted.length > 0) return evicted;
    }
    const [first] = starved;
    return first === undefined ? [] : this.#reclaim(first, starved);
  }

  /** Pods with limits are measured; nodes without such pods measure nothing. */
  async #enforceLimits(): Promise<EvictedPod[]> {
    const { pods, measurements, metrics } = this.#options;
    const limited = pods.active().filter((pod) => hasStorageLimits(pod) && !pods.isCritical(pod));
    const storage = await measurements.storage(limited);
    if (limited.length === 0) return [];
    const hasImageFilesystem = await measurements.hasImageFilesystem();
    const evicted: EvictedPod[] = [];
    for (const pod of limited) {
      const use = storage.get(pod.metadata.uid ?? '');
      const excess = use === undefined ? undefined : storageExcess(pod, use, hasImageFilesystem);
      if (excess === undefined) continue;
      const { signal, message } = excess;
      const eviction = { message, graceSeconds: minimumGraceSeconds };
      const victim = this.#evict(pod, eviction, () => metrics.evicted(signal));
      if (victim !== undefined) evicted.push(victim);
    }
    return evicted;
  }

  async #reclaim(threshold: Threshold, starved: readonly Threshold[]): Promise<EvictedPod[]> {
    const { log, nodeEvents, pods, measurements, metrics, clock } = this.#options;
    const { signal } = threshold;
    const resource = resourceOf(signal);
    log.info({ resourceName: resource }, 'attempting to reclaim');
    nodeEvents.record({
      type: 'Warning',
      reason: 'EvictionThresholdMet',
      message: `Attempting to reclaim ${resource}`,
    });
    const hasImageFilesystem = await measurements.hasImageFilesystem();
    if (await this.#reclaimImages(signal, hasImageFilesystem)) {
      log.info({ resourceName: resource }, 'able to reduce resource pressure without evicting pods');
      return [];
    }
    log.info({ resourceName: resource }, 'must evict pods to reclaim');
    const active = pods.active();
    if (active.length === 0) {
      log.error('eviction thresholds have been met, but no pods are active to evict');
      return [];
    }
    const onDisk = resource === 'ephemeral-storage' || resource === 'inodes';
    const uses = await measurements.uses(active, { onDisk });
    const ranked = rankForEviction({ signal, pods: active, uses, hasImageFilesystem });
    const nowMs = clock.monotonic();
    for (const { signal: each } of starved) {
      const measured = this.#state.observations[each];
      if (measured !== undefined) metrics.measuredBefore(each, (nowMs - measured.timeMs) / 1000);
    }
    const grace = this.#graceOf(threshold);
    for (const pod of ranked) {
      const eviction = { ...evictionTexts(resource, pod, uses.get(pod.metadata.uid ?? '')), ...grace };
      const victim = this.#evict(pod, eviction, () => metrics.evicted(signal));
      if (victim !== undefined) return [victim];
      // It has ended by itself meanwhile: no other pod must go for it before the next check.
      if (!pods.isCritical(pod)) {
        this.wake();
        return [];
      }
    }
    log.info('unable to evict any pods from the node');
    return [];
  }

  #graceOf({ graceMs }: Threshold): { readonly graceSeconds?: number } {
    const { maxPodGraceSeconds } = this.#options;
    if (graceMs === 0) return { graceSeconds: minimumGraceSeconds };
    return maxPodGraceSeconds > 0 ? { graceSeconds: maxPodGraceSeconds } : {};
  }

  /** True if no pod must be evicted. Continues after failures. */
  async #reclaimImages(signal: Signal, hasImageFilesystem: boolean): Promise<boolean> {
    const { reclaimImages, log, measurements, thresholds } = this.#options;
    const isOnImages = hasImageFilesystem ? signal.startsWith('imagefs') : /^(image|node)fs/.test(signal);
    if (!isOnImages || reclaimImages.length === 0) return false;
    for (const reclaim of reclaimImages) {
      try {
        await reclaim();
      } catch (error) {
        log.warn({ err: error, signal }, 'unexpected error when attempting to reduce resource pressure');
      }
    }
    return isReclaimed(thresholds, await measurements.observations());
  }

  /** Undefined for critical pods, and for those that have ended. `onBegun` is called once per pod. */
  #evict(pod: Pod, { message, annotations, graceSeconds }: Eviction, onBegun: () => void): EvictedPod | undefined {
    const { pods, podEvents, log } = this.#options;
    const { name, namespace, uid = '' } = pod.metadata;
    if (pods.isCritical(pod)) {
      log.error({ namespace, name }, 'cannot evict a critical pod');
      return undefined;
    }
    const progress = pods.evict(uid, {
      ...{ reason: 'Evicted', message, isEviction: true, isRecorded: true },
      ...(graceSeconds === undefined ? {} : { graceSeconds }),
    });
    if (progress === 'begun') {
      podEvents.pod(pod, 'Warning', 'Evicted', message, annotations);
      log.info({ namespace, name, uid, reason: message }, 'evicting pod');
      onBegun();
    }
    return progress === 'over' ? undefined : { pod, graceSeconds: graceSeconds ?? podGraceSeconds(pod) };
  }

  /** Waits until the pods have ended, and then until their resources are released; each for a limited time. */
  async #untilReleased(evicted: readonly EvictedPod[], signal: AbortSignal): Promise<void> {
    const { pods, podEvents, log } = this.#options;
    const graceMs = Math.max(0, ...evicted.map(({ graceSeconds }) => graceSeconds * 1000));
    const isOver = async () => evicted.every(({ pod }) => pods.isOver(pod.metadata.uid ?? ''));
    if (!(await this.#poll(isOver, Math.max(killMs, graceMs * 1.5), signal))) {
      const message = 'Container runtime did not kill the pod within specified grace period.';
      for (const { pod } of evicted)
        if (!pods.isOver(pod.metadata.uid ?? '')) podEvents.pod(pod, 'Warning', 'ExceededGracePeriod', message);
    }
    const isReleased = async () => {
      await pods.removeEvicted();
      return evicted.every(({ pod }) => pods.isReleased(pod.metadata.uid ?? ''));
    };
    const names = evicted.map(({ pod: { metadata } }) => `${metadata.namespace}/${metadata.name}`);
    if (await this.#poll(isReleased, cleanupMs, signal)) log.info({ pods: names }, 'evicted pods were cleaned up');
    else log.info({ pods: names }, 'timed out waiting for evicted pods to be cleaned up');
    // Runtimes free disk space in the background.
    await this.#options.clock.sleep(pollMs, signal);
  }

  /** False if the condition is not true in time. True once the signal aborts. */
  async #poll(condition: () => Promise<boolean>, limitMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    const deadline = clock.monotonic() + limitMs;
    while (!signal.aborted && !(await condition())) {
      if (clock.monotonic() >= deadline) return false;
      await clock.sleep(pollMs, signal);
    }
    return true;
  }
}

/** A pod that is being evicted. */
interface EvictedPod {
  readonly pod: Pod;
  /** Time until its containers are killed. */
  readonly graceSeconds: number;
}

interface Eviction {
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Default: the pod's own. */
  readonly graceSeconds?: number;
}
