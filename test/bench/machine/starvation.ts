/**
 * Whether the machine gave a measurement what it gives when it has nothing else to do. CPU time alone does not show that:
 * a core that a neighbour shares, or that the hypervisor slows down, takes more CPU time for the same work.
 */

/** What one spin (see `spin.ts`), always the same work, took; the mean where several were made in a row. */
export interface Spin {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** What spins take on this machine when nothing else runs. */
export interface Calibration {
  /** Of one process. */
  readonly alone: Spin;
  /** Of as many processes at once as there are cores: cores can be halves of one. */
  readonly together: Spin;
}

/** What went to others during a measurement. */
export interface Taken {
  readonly elapsedMs: number;
  /** CPU time that the hypervisor gave to others meanwhile, of all cores together. */
  readonly stealMs: number;
  /** CPU time of processes that are no part of the measurement. */
  readonly othersMs: number;
}

export interface Conditions extends Taken {
  /** Made just before the measurement. */
  readonly before: Spin;
  /** Made now and then during it; none when it was too short for that. */
  readonly during: readonly Spin[];
}

/** Least part of a core, and of its pace, that counts as the whole. */
export const leastPart = 0.85;
/** Most that others may take, in cores. */
const mostOthers = 0.1;
const mostStolen = 0.05;
/** The kernel counts in ticks of 10 ms, and on each core by itself: so much may be an error of counting. */
const countingErrorMs = 30;

export type Starvation = 'no whole core before it' | 'slow cores' | 'other processes' | 'stolen by the hypervisor';

/** How much of a core a spin was given: 1 is all of it. */
export function partOfCore(calibration: Calibration, spin: Spin): number {
  return calibration.alone.wallMs / spin.wallMs;
}

/** Whether others took more than can be overlooked. */
export function disturbance({ elapsedMs, stealMs, othersMs }: Taken): Starvation | undefined {
  if (stealMs > mostStolen * elapsedMs + countingErrorMs) return 'stolen by the hypervisor';
  return othersMs > mostOthers * elapsedMs + countingErrorMs ? 'other processes' : undefined;
}

/** Why a measurement under these conditions does not count; undefined when it does. */
export function starvation(calibration: Calibration, conditions: Conditions): Starvation | undefined {
  const { before, during } = conditions;
  if (partOfCore(calibration, before) < leastPart) return 'no whole core before it';
  const disturbed = disturbance(conditions);
  if (disturbed !== undefined) return disturbed;
  // The measurement itself uses all cores, so what a spin waited says nothing, and each has the pace that it has in company.
  const pace = calibration.together.cpuMs / median(during.map(({ cpuMs }) => cpuMs));
  return pace < leastPart ? 'slow cores' : undefined;
}

/** `NaN` of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
