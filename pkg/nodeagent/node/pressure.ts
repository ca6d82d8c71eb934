/**
 * Detects shortage of memory, disk or process IDs, as release 1.24 does (pkg/kubelet/eviction): a condition begins as
 * soon as a hard or soft threshold is crossed, and ends once none has been crossed for the transition period. Does not
 * evict. Pure except for its state.
 */
import { value } from '#apimachinery/quantity.js';

/** By signal, such as `memory.available`: a quantity, or a percentage of the capacity. */
export type Thresholds = Readonly<Record<string, string>>;

export interface PressureOptions {
  readonly hard: Thresholds;
  readonly soft: Thresholds;
  /** Amount above a crossed threshold at which it counts as resolved. */
  readonly minimumReclaim: Thresholds;
  readonly transitionMs: number;
}

export interface SignalReading {
  readonly available: number;
  readonly capacity: number;
}

/** By signal; absent signals cross nothing. */
export type Readings = Readonly<Record<string, SignalReading | undefined>>;

export interface Pressures {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

const conditionOf: Readonly<Record<string, keyof Pressures>> = {
  'memory.available': 'memory',
  'allocatableMemory.available': 'memory',
  'nodefs.available': 'disk',
  'nodefs.inodesFree': 'disk',
  'imagefs.available': 'disk',
  'imagefs.inodesFree': 'disk',
  'pid.available': 'pid',
};

/** The absolute amount of a threshold; 0 without one. */
export function thresholdAmount(threshold: string | undefined, capacity: number): number {
  if (threshold === undefined) return 0;
  const percent = /^([0-9.]+)%$/.exec(threshold)?.[1];
  return percent === undefined ? value(threshold) : Math.floor((capacity * Number(percent)) / 100);
}

/** 0% and 100% disable a threshold. */
function isDisabled(threshold: string): boolean {
  return threshold === '0%' || threshold === '100%';
}

export class PressureTracker {
  readonly #options: PressureOptions;
  readonly #thresholds: readonly { readonly signal: string; readonly threshold: string }[];
  /** Indexes of thresholds that are crossed and not resolved. */
  #crossed = new Set<number>();
  /** When each condition was last observed (monotonic ms). */
  readonly #lastSeen = new Map<keyof Pressures, number>();

  constructor(options: PressureOptions) {
    this.#options = options;
    this.#thresholds = [...Object.entries(options.hard), ...Object.entries(options.soft)]
      .filter(([, threshold]) => !isDisabled(threshold))
      .map(([signal, threshold]) => ({ signal, threshold }));
  }

  /** `nowMs`: monotonic. */
  observe(readings: Readings, nowMs: number): Pressures {
    const { minimumReclaim, transitionMs } = this.#options;
    const crossed = new Set<number>();
    for (const [index, { signal, threshold }] of this.#thresholds.entries()) {
      const reading = readings[signal];
      const condition = conditionOf[signal];
      if (reading === undefined || condition === undefined) continue;
      const reclaim = this.#crossed.has(index) ? thresholdAmount(minimumReclaim[signal], reading.capacity) : 0;
      if (reading.available >= thresholdAmount(threshold, reading.capacity) + reclaim) continue;
      crossed.add(index);
      this.#lastSeen.set(condition, nowMs);
    }
    this.#crossed = crossed;
    const has = (condition: keyof Pressures) => {
      const lastSeen = this.#lastSeen.get(condition);
      return lastSeen !== undefined && (lastSeen === nowMs || nowMs - lastSeen < transitionMs);
    };
    return { memory: has('memory'), disk: has('disk'), pid: has('pid') };
  }
}
