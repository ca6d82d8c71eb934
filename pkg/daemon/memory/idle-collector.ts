/**
 * Returns memory after busy periods. The runtime collects garbage only when it needs room; what a burst of requests
 * leaves behind would stay in an idle process.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '#apimachinery/clock.js';
import type { Daemon } from '#daemon/daemon.js';

export interface IdleCollectionOptions {
  readonly clock: Clock;
  /** CPU time of the process, in microseconds. */
  readonly cpuUsage: () => { readonly user: number; readonly system: number };
  /** Collects all garbage; blocks the process for some tens of milliseconds. */
  readonly collect: () => void;
  /** Memory of the heap, with garbage. Present: growth is as good a reason to collect as a busy period. */
  readonly heapBytes?: () => number;
}

/** Sampling interval. */
const periodMs = 5000;
/** A period above this share of one core is busy. */
const busyShare = 0.2;
/** A period up to this share is idle. */
const idleShare = 0.05;
/**
 * Consecutive idle periods before a collection. A full collection also drops hidden classes without live objects, and
 * their compiled code: the next few hundred requests cost half as much again. A pause of some seconds is not worth
 * that.
 */
const idlePeriods = 2;

/** Growth of the heap that is worth a collection. */
const grownBytes = 8 * 1024 * 1024;

/**
 * Collects once after a busy period, or growth of the heap, is followed by idle periods. Runs until the signal aborts. Work that
 * mostly waits, as for a container runtime on a slow machine, fills the heap without a busy period.
 */
export async function collectWhenIdle(options: IdleCollectionOptions, signal: AbortSignal): Promise<void> {
  const { clock, cpuUsage, collect, heapBytes } = options;
  const usedMs = () => (cpuUsage().user + cpuUsage().system) / 1000;
  let wasBusy = true;
  let idleFor = 0;
  let used = usedMs();
  /** Its smallest size since the last collection. */
  let heap = Number.POSITIVE_INFINITY;
  while (!signal.aborted) {
    await clock.sleep(periodMs, signal);
    if (signal.aborted) return;
    const now = usedMs();
    const share = (now - used) / periodMs;
    used = now;
    const heapNow = heapBytes?.() ?? 0;
    heap = Math.min(heap, heapNow);
    if (share >= busyShare || heapNow - heap >= grownBytes) wasBusy = true;
    idleFor = share > idleShare ? 0 : idleFor + 1;
    if (idleFor < idlePeriods || !wasBusy) continue;
    wasBusy = false;
    heap = Number.POSITIVE_INFINITY;
    collect();
    used = usedMs();
  }
}

/** A daemon that collects garbage when the process is idle. */
export class IdleCollector implements Daemon {
  readonly name = 'idle-collector';
  readonly #options: IdleCollectionOptions;
  readonly #stop = new AbortController();

  constructor(options: IdleCollectionOptions) {
    this.#options = options;
  }

  async ready(): Promise<void> {}

  start(signal: AbortSignal): Promise<void> {
    return collectWhenIdle(this.#options, AbortSignal.any([signal, this.#stop.signal]));
  }

  async close(): Promise<void> {
    this.#stop.abort();
  }
}

/** Reclaimable bytes below this are soon in use again. */
const worthwhileBytes = 4 * 1024 * 1024;
/** The same as a share of live bytes. */
const worthwhileShare = 0.2;

/** Whether compacting reclaims enough to be worth its time, about two collections. */
export function isScattered({ used, total }: { readonly used: number; readonly total: number }): boolean {
  return total - used > Math.max(worthwhileBytes, used * worthwhileShare);
}

/** Memory of this process's heap, with garbage. */
export function heapBytes(): number {
  return getHeapStatistics().total_heap_size;
}

/** Returns a function that collects all garbage with the runtime's own `gc`. */
export function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    // Weak references of the same turn are released by the next collection.
    setImmediate(() => {
      const { used_heap_size: used, total_physical_size: total } = getHeapStatistics();
      if (!isScattered({ used, total })) return collect();
      // Without compaction, nearly empty pages stay.
      setFlagsFromString('--compact-on-every-full-gc');
      collect();
      setFlagsFromString('--no-compact-on-every-full-gc');
    });
  };
}
