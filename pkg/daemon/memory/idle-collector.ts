/** Collects garbage beside other daemons of the process, when they have nothing to do. */
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

/**
 * Gives memory back after busy times. The runtime collects garbage when it needs room, and an idle process needs none: what
 * a burst of requests has left behind would stay for as long as nothing happens.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { Daemon } from '#daemon/daemon.js';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface IdleCollectionOptions {
  readonly clock: Clock;
  /** CPU time of the process so far, in microseconds. */
  readonly cpuUsage: () => { readonly user: number; readonly system: number };
  /** Collects all garbage; holds the process for some tens of milliseconds. */
  readonly collect: () => void;
}

/** How often the process is looked at. */
const periodMs = 5000;
/** From this share of one core on a period counts as busy. */
const busyShare = 0.2;
/** Up to this share it counts as idle. */
const idleShare = 0.05;
/**
 * Idle periods in a row after which garbage is collected. Collecting all of it also drops the shapes of objects of which none
 * is alive at the moment, with the compiled code that knows them: the next hundreds of requests cost half as much again,
 * which a pause of some seconds in the work is not worth.
 */
const idlePeriods = 2;

/** Collects once when idle periods follow a busy one. Runs until the signal aborts. */
export async function collectWhenIdle(options: IdleCollectionOptions, signal: AbortSignal): Promise<void> {
  const { clock, cpuUsage, collect } = options;
  const usedMs = () => (cpuUsage().user + cpuUsage().system) / 1000;
  let wasBusy = true;
  let idleFor = 0;
  let used = usedMs();
  while (!signal.aborted) {
    await clock.sleep(periodMs, signal);
    if (signal.aborted) return;
    const now = usedMs();
    const share = (now - used) / periodMs;
    used = now;
    if (share >= busyShare) wasBusy = true;
    idleFor = share > idleShare ? 0 : idleFor + 1;
    if (idleFor < idlePeriods || !wasBusy) continue;
    wasBusy = false;
    collect();
    used = usedMs();
  }
}

/** What a heap may hold for nothing: less is soon filled again. */
const worthwhileBytes = 16 * 1024 * 1024;
/** The same as a share of what lives. */
const worthwhileShare = 0.2;

/** Whether moving all objects together gives back enough to be worth the time, which is about that of collecting twice. */
export function isScattered({ used, total }: { readonly used: number; readonly total: number }): boolean {
  return total - used > Math.max(worthwhileBytes, used * worthwhileShare);
}

/** A function that collects all garbage: the runtime's own, which is there only when asked for. */
export function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    // What was only weakly held in the same turn goes with the next collection.
    setImmediate(() => {
      const { used_heap_size: used, total_physical_size: total } = getHeapStatistics();
      if (!isScattered({ used, total })) return collect();
      // Otherwise pages on which little is left stay.
      setFlagsFromString('--compact-on-every-full-gc');
      collect();
      setFlagsFromString('--no-compact-on-every-full-gc');
    });
  };
}
