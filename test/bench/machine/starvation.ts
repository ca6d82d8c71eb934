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
  /**
   * Now and then, while every core has something else to do: cores can be halves of one, and who comes back to a core
   * finds it cold. What it waits for the core says nothing.
   */
  readonly inCompany: Pick<Spin, 'cpuMs'>;
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

/** Least part of the time that a spin is given when it has a core for itself. */
const leastShare = 0.85;
/** Cores wander by themselves, with their host's load and clock; this far from a row's usual pace they count as the same. */
const mostWander = 0.15;
/** Less of the pace that they had in the company of the calibration is no wandering. */
const leastPace = 0.6;
/** Most that others may take, in cores. */
const mostOthers = 0.1;
const mostStolen = 0.05;
/** The kernel counts in ticks of 10 ms, and on each core by itself: so much may be an error of counting. */
const countingErrorMs = 30;

export type Starvation = 'no whole core before it' | 'slow cores' | 'other processes' | 'stolen by the hypervisor';

/** Whether a spin had a core for itself, however fast that was: its CPU time is the time that it took. */
export function hadCore({ cpuMs, wallMs }: Spin): boolean {
  return cpuMs >= leastShare * wallMs;
}

/** Whether a core is so much faster than it was calibrated that the calibration is worth nothing. */
export function outpaces(calibration: Calibration, { wallMs }: Spin): boolean {
  return wallMs < (1 - mostWander) * calibration.alone.wallMs;
}

/** Whether others took more than can be overlooked. */
export function disturbance({ elapsedMs, stealMs, othersMs }: Taken): Starvation | undefined {
  if (stealMs > mostStolen * elapsedMs + countingErrorMs) return 'stolen by the hypervisor';
  return othersMs > mostOthers * elapsedMs + countingErrorMs ? 'other processes' : undefined;
}

/** Why a measurement under these conditions does not count, whatever others were like; undefined when nothing speaks against it. */
export function starvation(calibration: Calibration, conditions: Conditions): Starvation | undefined {
  if (!hadCore(conditions.before)) return 'no whole core before it';
  return disturbance(conditions) ?? ((paceOf(calibration, conditions) ?? 1) < leastPace ? 'slow cores' : undefined);
}

/**
 * How fast the cores were during a measurement, as a part of their pace when calibrated; undefined without spins.
 * The measurement itself uses all cores, so what a spin waited says nothing, and each has the pace that it has in company.
 */
export function paceOf(calibration: Calibration, { during }: Pick<Conditions, 'during'>): number | undefined {
  return during.length === 0 ? undefined : calibration.inCompany.cpuMs / median(during.map(({ cpuMs }) => cpuMs));
}

/**
 * Whether a measurement was made at the pace of the others of its row. That pace is the median of theirs and not the best:
 * what is compared takes turns within each of them, so a pace that all have in common favours nobody.
 */
export function keepsPace(pace: number | undefined, usual: number): boolean {
  return pace === undefined || Number.isNaN(usual) || Math.abs(pace / usual - 1) <= mostWander;
}

/** `NaN` of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
