/** Which pods end together when the machine shuts down, and how long they have: the rules of 1.24 (KEP 2000, KEP 2712). Pure. */
import type { Pod } from '#api/core/v1/types.gen.js';

export interface ShutdownPeriod {
  /** The lowest priority of the pods to which the period applies. */
  readonly priority: number;
  readonly graceSeconds: number;
}

export interface ShutdownSettings {
  /** Of all pods together; includes the period of critical pods. */
  readonly gracePeriodMs: number;
  readonly criticalPodsMs: number;
  /** Replaces the other two unless it is empty. */
  readonly byPriority: readonly ShutdownPeriod[];
}

export interface ShutdownGroup extends ShutdownPeriod {
  readonly pods: readonly Pod[];
}

const defaultPriority = 0;
const systemCritical = 2_000_000_000;

/** The periods, the lowest priority first; empty if shutdowns are not watched. */
export function shutdownPeriods({ gracePeriodMs, criticalPodsMs, byPriority }: ShutdownSettings): ShutdownPeriod[] {
  if (byPriority.length > 0) return [...byPriority].sort((a, b) => a.priority - b.priority);
  const otherMs = gracePeriodMs - criticalPodsMs;
  if (gracePeriodMs === 0 || otherMs < 0) return [];
  return [
    { priority: defaultPriority, graceSeconds: Math.trunc(otherMs / 1000) },
    { priority: systemCritical, graceSeconds: Math.trunc(criticalPodsMs / 1000) },
  ];
}

/** How long logind must delay a shutdown. */
export function totalPeriodMs(periods: readonly ShutdownPeriod[]): number {
  return periods.reduce((sum, { graceSeconds }) => sum + graceSeconds * 1000, 0);
}

/** One group for each period, in the order in which they end. A pod below all priorities is in the first group. */
export function shutdownGroups(periods: readonly ShutdownPeriod[], pods: readonly Pod[]): ShutdownGroup[] {
  const groupOf = ({ spec }: Pod) => {
    const priority = spec.priority ?? 0;
    // Of several periods of one priority the first counts, as in 1.24.
    const exact = periods.findIndex((period) => period.priority === priority);
    const below = periods.findLastIndex((period) => period.priority < priority);
    return Math.max(0, exact === -1 ? below : exact);
  };
  return periods.map((period, i) => ({ ...period, pods: pods.filter((pod) => groupOf(pod) === i) }));
}

/** The pod's own grace period, if it is shorter than that of its group. */
export function graceSecondsIn({ graceSeconds }: ShutdownPeriod, { spec }: Pod): number {
  return Math.min(graceSeconds, Number(spec.terminationGracePeriodSeconds ?? graceSeconds));
}
