/**
 * Assesses a node's resources, as release 1.24's eviction manager does (pkg/kubelet/eviction): which conditions it has,
 * and for which threshold something must be reclaimed. Pure: the caller keeps the state.
 *
 * A condition begins as soon as a hard or soft threshold is crossed, and ends once none has been crossed for the
 * transition period. Reclaiming begins once a threshold has been crossed for its grace period, and goes on until the
 * minimum reclaim is reached.
 */
import {
  conditionOf,
  type PressureCondition,
  type Signal,
  type Threshold,
  thresholdAmount,
} from '#nodeagent/pressure/thresholds.js';

export interface Observation {
  readonly available: number;
  readonly capacity: number;
  /** When it was measured (monotonic ms). */
  readonly timeMs: number;
}

/** Signals that could not be measured are absent and cross nothing. */
export type Observations = Readonly<Partial<Record<Signal, Observation>>>;

/** In the order in which messages name them. */
const pressureConditions: readonly PressureCondition[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

export interface PressureState {
  /** The conditions of the node. */
  readonly conditions: readonly PressureCondition[];
  /** Indexes of thresholds whose grace period has passed and whose minimum reclaim is not reached. */
  readonly unresolved: ReadonlySet<number>;
  /** Threshold index → since when it is crossed (monotonic ms). */
  readonly crossedSince: ReadonlyMap<number, number>;
  /** When each condition was last observed (monotonic ms). */
  readonly lastSeen: ReadonlyMap<PressureCondition, number>;
  readonly observations: Observations;
}

export const noPressure: PressureState = {
  conditions: [],
  unresolved: new Set(),
  crossedSince: new Map(),
  lastSeen: new Map(),
  observations: {},
};

export interface PressureInput {
  readonly thresholds: readonly Threshold[];
  readonly transitionMs: number;
  readonly observations: Observations;
  readonly state: PressureState;
  /** Monotonic. */
  readonly nowMs: number;
}

export interface Assessment {
  readonly state: PressureState;
  /** The thresholds for which something must be reclaimed now, the most urgent one first. */
  readonly starved: readonly Threshold[];
}

export function assess({ thresholds, transitionMs, observations, state, nowMs }: PressureInput): Assessment {
  const crossedSince = new Map<number, number>();
  for (const [index, threshold] of thresholds.entries()) {
    if (!isCrossed(threshold, observations, state.unresolved.has(index))) continue;
    crossedSince.set(index, state.crossedSince.get(index) ?? nowMs);
  }
  const crossed = [...crossedSince.keys()].flatMap((index) => thresholds[index] ?? []);
  const lastSeen = new Map(state.lastSeen);
  for (const { signal } of crossed) lastSeen.set(conditionOf(signal), nowMs);
  const conditions = pressureConditions.filter((condition) => {
    const seen = lastSeen.get(condition);
    return seen !== undefined && (seen === nowMs || nowMs - seen < transitionMs);
  });
  const isDue = (threshold: Threshold, since: number) => nowMs - since >= threshold.graceMs;
  const due = thresholds.flatMap((threshold, index) => {
    const since = crossedSince.get(index);
    return since !== undefined && isDue(threshold, since) ? [{ threshold, index }] : [];
  });
  const starved = due
    .map(({ threshold }) => threshold)
    .filter(({ signal }) => isNewer(observations[signal], state.observations[signal]));
  return {
    state: { conditions, unresolved: new Set(due.map(({ index }) => index)), crossedSince, lastSeen, observations },
    starved: byUrgency(starved),
  };
}

/** Indexes of the thresholds that are crossed, whatever their grace period. */
export function crossedThresholds(thresholds: readonly Threshold[], observations: Observations): number[] {
  return thresholds.flatMap((threshold, index) => (isCrossed(threshold, observations, false) ? [index] : []));
}

/** True if the node has at least the minimum reclaim above each of the thresholds. */
export function isReclaimed(thresholds: readonly Threshold[], observations: Observations): boolean {
  return !thresholds.some((threshold) => isCrossed(threshold, observations, true));
}

function isCrossed(threshold: Threshold, observations: Observations, withReclaim: boolean): boolean {
  const { signal, amount, minimumReclaim } = threshold;
  const observation = observations[signal];
  if (observation === undefined) return false;
  const { available, capacity } = observation;
  const reclaim = withReclaim ? thresholdAmount(minimumReclaim, capacity) : 0;
  return available < thresholdAmount(amount, capacity) + reclaim;
}

/** What was measured before the last pod was evicted says nothing about the need to evict another one. */
function isNewer(observation: Observation | undefined, last: Observation | undefined): boolean {
  return observation !== undefined && (last === undefined || observation.timeMs > last.timeMs);
}

/** Memory first, since the kernel kills processes without it; otherwise as configured, hard thresholds first. */
function byUrgency(thresholds: readonly Threshold[]): Threshold[] {
  const isMemory = ({ signal }: Threshold) => conditionOf(signal) === 'MemoryPressure';
  return [...thresholds.filter(isMemory), ...thresholds.filter((threshold) => !isMemory(threshold))];
}
