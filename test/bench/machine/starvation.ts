/**
 * Detects whether other load slowed a measurement. CPU time alone does not show this: on a shared or throttled core, the
 * same work takes more CPU time.
 */

/** The duration of one spin (see `spin.ts`), or the mean of consecutive spins. */
export interface Spin {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** The duration of spins on this machine without other load. */
export interface Calibration {
  /** On an otherwise idle machine. */
  readonly alone: Spin;
  /**
   * Periodic spins while every core is busy: cores may be hyperthreads, and caches are cold after a context switch. The
   * waiting time does not count.
   */
  readonly inCompany: Pick<Spin, 'cpuMs'>;
}

/** CPU time of other processes during a measurement. */
export interface Taken {
  readonly elapsedMs: number;
  /** CPU time that the hypervisor gave to other guests, of all cores. */
  readonly stealMs: number;
  /** CPU time of processes outside of the measurement. */
  readonly othersMs: number;
}

export interface Conditions extends Taken {
  /** A spin just before the measurement. */
  readonly before: Spin;
  /** Periodic spins during the measurement; empty for a short measurement. */
  readonly during: readonly Spin[];
}

/** The minimum CPU share of a spin with its own core. */
const leastShare = 0.85;
/** The speed of cores varies with the host's load and clock; variations within this range count as equal. */
const mostWander = 0.15;
/** A lower speed relative to the calibration under load means starvation. */
const leastPace = 0.6;
/** The maximum CPU use of other processes, in cores. */
const mostOthers = 0.1;
const mostStolen = 0.05;
/** The counting error, because the kernel counts ticks of 10 ms per core. */
const countingErrorMs = 30;

export type Starvation = 'no whole core before it' | 'slow cores' | 'other processes' | 'stolen by the hypervisor';

/** Whether a spin had its own core of any speed: its CPU time equals its duration. */
export function hadCore({ cpuMs, wallMs }: Spin): boolean {
  return cpuMs >= leastShare * wallMs;
}

/** Whether a core is so much faster than in the calibration that the calibration is invalid. */
export function outpaces(calibration: Calibration, { wallMs }: Spin): boolean {
  return wallMs < (1 - mostWander) * calibration.alone.wallMs;
}

/** Whether other processes used too much CPU. */
export function disturbance({ elapsedMs, stealMs, othersMs }: Taken): Starvation | undefined {
  if (stealMs > mostStolen * elapsedMs + countingErrorMs) return 'stolen by the hypervisor';
  return othersMs > mostOthers * elapsedMs + countingErrorMs ? 'other processes' : undefined;
}

/** Why a measurement under these conditions is invalid; undefined when it is valid. */
export function starvation(calibration: Calibration, conditions: Conditions): Starvation | undefined {
  if (!hadCore(conditions.before)) return 'no whole core before it';
  return disturbance(conditions) ?? ((paceOf(calibration, conditions) ?? 1) < leastPace ? 'slow cores' : undefined);
}

/**
 * The cores' speed during a measurement relative to the calibration under load; undefined without spins. The measurement
 * itself uses all cores, so the waiting time of spins does not count.
 */
export function paceOf(calibration: Calibration, { during }: Pick<Conditions, 'during'>): number | undefined {
  return during.length === 0 ? undefined : calibration.inCompany.cpuMs / median(during.map(({ cpuMs }) => cpuMs));
}

/**
 * Whether a measurement ran at the median speed of its row. The compared subjects take turns in each measurement, so a
 * common speed affects both equally.
 */
export function keepsPace(pace: number | undefined, usual: number): boolean {
  return pace === undefined || Number.isNaN(usual) || Math.abs(pace / usual - 1) <= mostWander;
}

/** `NaN` for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
