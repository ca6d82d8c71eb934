/** Conditions and phases of pods. */
import type { Pod, PodCondition, PodStatus } from '#api/core/v1/types.gen.js';
import { getCondition, setCondition } from '#api/meta/v1/condition/conditions.js';
import { parseTime } from '#apimachinery/clock.js';

/** The pod's condition of that type; undefined if absent. */
export function getPodCondition(status: PodStatus | undefined, type: string): PodCondition | undefined {
  return getCondition(status?.conditions, type);
}

/**
 * The status with the condition set; the same status if unchanged. `now` is RFC 3339 and becomes the transition time if
 * the condition's status changes.
 */
export function setPodCondition(status: PodStatus | undefined, condition: PodCondition, now: string): PodStatus {
  const old = status ?? {};
  const conditions = setCondition(old.conditions, condition, now);
  return conditions === old.conditions ? old : { ...old, conditions: [...conditions] };
}

/** True if the pod's Ready condition is True. */
export function isPodReady(pod: Pod): boolean {
  return getPodCondition(pod.status, 'Ready')?.status === 'True';
}

/** True if the pod has been Ready for `minReadySeconds` at `now` (ms). Zero seconds: as soon as it is Ready. */
export function isPodAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  const ready = getPodCondition(pod.status, 'Ready');
  if (ready?.status !== 'True') return false;
  if (minReadySeconds === 0) return true;
  const since = ready.lastTransitionTime === undefined ? Number.NaN : parseTime(ready.lastTransitionTime);
  return since + minReadySeconds * 1000 < now;
}

/** True if the pod has completed: phase Succeeded or Failed. */
export function isPodTerminal(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return phase === 'Succeeded' || phase === 'Failed';
}

/** True if the pod has not completed and is not being deleted. */
export function isPodActive(pod: Pod): boolean {
  return !isPodTerminal(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** The pod's priority; zero if admission set none. */
export function podPriority(pod: Pod): number {
  return pod.spec.priority ?? 0;
}
