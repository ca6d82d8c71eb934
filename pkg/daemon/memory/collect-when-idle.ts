/**
 * Gives memory back after busy times. The runtime collects garbage when it needs room, and an idle process needs none: what
 * a burst of requests has left behind would stay for as long as nothing happens.
 */
import type { Clock } from '#apimachinery/clock.js';

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
