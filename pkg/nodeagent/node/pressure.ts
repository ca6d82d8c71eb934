/**
 * Whether the node is short of memory, disk or process ids, as release 1.24 decides it (pkg/kubelet/eviction): a condition
 * is there as soon as a threshold is crossed, hard or soft, and goes when none has been crossed for the transition period.
 * Nothing is evicted here. Pure, but for what it remembers.
 */
import { value } from '#apimachinery/quantity.js';

/** By signal, such as `memory.available`: a quantity, or a percentage of the capacity. */
export type Thresholds = Readonly<Record<string, string>>;

export interface PressureOptions {
  readonly hard: Thresholds;
  readonly soft: Thresholds;
  /** How much more than the threshold there must be before one that was crossed counts as over. */
  readonly minimumReclaim: Thresholds;
  readonly transitionMs: number;
}

export interface SignalReading {
  readonly available: number;
  readonly capacity: number;
}

/** By signal; what is not measured crosses nothing. */
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

/** Amount that a threshold stands for; 0 without one. */
export function thresholdAmount(threshold: string | undefined, capacity: number): number {
  if (threshold === undefined) return 0;
  const percent = /^([0-9.]+)%$/.exec(threshold)?.[1];
  return percent === undefined ? value(threshold) : Math.floor((capacity * Number(percent)) / 100);
}

/** 0% and 100% switch a threshold off. */
function isOff(threshold: string): boolean {
  return threshold === '0%' || threshold === '100%';
}

export class PressureTracker {
  readonly #options: PressureOptions;
  readonly #thresholds: readonly { readonly signal: string; readonly threshold: string }[];
  /** Those that are crossed and not resolved; by their place in the list. */
  #crossed = new Set<number>();
  /** Monotonic ms of the last look that found the condition. */
  readonly #lastSeen = new Map<keyof Pressures, number>();

  constructor(options: PressureOptions) {
    this.#options = options;
    this.#thresholds = [...Object.entries(options.hard), ...Object.entries(options.soft)]
      .filter(([, threshold]) => !isOff(threshold))
      .map(([signal, threshold]) => ({ signal, threshold }));
  }

  /** @param nowMs Of a clock that is never set. */
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
      const seen = this.#lastSeen.get(condition);
      return seen !== undefined && (seen === nowMs || nowMs - seen < transitionMs);
    };
    return { memory: has('memory'), disk: has('disk'), pid: has('pid') };
  }
}
