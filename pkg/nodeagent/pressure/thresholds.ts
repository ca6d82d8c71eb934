/** Eviction thresholds of release 1.24 (pkg/kubelet/eviction/helpers.go). Pure. */
import { value } from '#apimachinery/quantity.js';

/** What eviction thresholds are about, each with the condition it causes and the resource that runs short. */
const signals = {
  'memory.available': { condition: 'MemoryPressure', resource: 'memory' },
  'allocatableMemory.available': { condition: 'MemoryPressure', resource: 'memory' },
  'nodefs.available': { condition: 'DiskPressure', resource: 'ephemeral-storage' },
  'nodefs.inodesFree': { condition: 'DiskPressure', resource: 'inodes' },
  'imagefs.available': { condition: 'DiskPressure', resource: 'ephemeral-storage' },
  'imagefs.inodesFree': { condition: 'DiskPressure', resource: 'inodes' },
  'pid.available': { condition: 'PIDPressure', resource: 'pids' },
} as const;

export type Signal = keyof typeof signals;
export type PressureCondition = (typeof signals)[Signal]['condition'];
export type StarvedResource = (typeof signals)[Signal]['resource'];

export const signalNames = Object.keys(signals) as readonly Signal[];

function isSignal(name: string): name is Signal {
  return Object.hasOwn(signals, name);
}

export const conditionOf = (signal: Signal): PressureCondition => signals[signal].condition;
export const resourceOf = (signal: Signal): StarvedResource => signals[signal].resource;

/** By signal, such as `memory.available`: a quantity, or a percentage of the capacity. */
export type Amounts = Readonly<Record<string, string>>;

export interface Threshold {
  readonly signal: Signal;
  /** A quantity, or a percentage of the capacity. */
  readonly amount: string;
  /** How long it must be crossed before pods are evicted; 0 for a hard threshold. */
  readonly graceMs: number;
  /** Amount above a crossed threshold at which it counts as resolved. */
  readonly minimumReclaim?: string;
}

export interface ThresholdConfig {
  readonly hard: Amounts;
  readonly soft: Amounts;
  /** Milliseconds by signal. */
  readonly softGraceMs: Readonly<Record<string, number>>;
  readonly minimumReclaim: Amounts;
  /** The limit of all pods is enforced, so the hard threshold of memory applies below it as well. */
  readonly enforcesAllocatable: boolean;
}

/** 0% and 100% disable a threshold. */
function isDisabled(amount: string): boolean {
  return amount === '0%' || amount === '100%';
}

/** Hard thresholds, then soft ones, then that of all pods. The configuration is valid. */
export function thresholdsOf(config: ThresholdConfig): Threshold[] {
  const { hard, soft, softGraceMs, minimumReclaim, enforcesAllocatable } = config;
  const threshold = (signal: Signal, amount: string, graceMs: number): Threshold => {
    const reclaim = minimumReclaim[signal];
    return { signal, amount, graceMs, ...(reclaim === undefined ? {} : { minimumReclaim: reclaim }) };
  };
  const ofAmounts = (amounts: Amounts, graceOf: (signal: Signal) => number) =>
    Object.entries(amounts).flatMap(([signal, amount]) =>
      isSignal(signal) && !isDisabled(amount) ? [threshold(signal, amount, graceOf(signal))] : [],
    );
  const own = [...ofAmounts(hard, () => 0), ...ofAmounts(soft, (signal) => softGraceMs[signal] ?? 0)];
  const ofMemory = own.filter(({ signal, graceMs }) => signal === 'memory.available' && graceMs === 0);
  const ofPods = ofMemory.map((each): Threshold => ({ ...each, signal: 'allocatableMemory.available' }));
  return enforcesAllocatable ? [...own, ...ofPods] : own;
}

/** The absolute amount of a threshold; 0 without one. Release 1.24 computes percentages in single precision. */
export function thresholdAmount(amount: string | undefined, capacity: number): number {
  if (amount === undefined) return 0;
  const percent = /^([0-9.]+)%$/.exec(amount)?.[1];
  if (percent === undefined) return value(amount);
  return Math.trunc(capacity * Math.fround(Math.fround(Number(percent)) / 100));
}
