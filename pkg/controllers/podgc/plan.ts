/** Which pods nobody else will ever clean up. Pure; rules of release 1.24 (podgc). */
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import type { Pod } from '#api/core/v1/types.gen.js';

/** True for pods whose ended state is kept for people to look at, up to a number. */
export function isTerminated(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return (
    isPodTerminal(pod) || (phase !== undefined && phase !== 'Pending' && phase !== 'Running' && phase !== 'Unknown')
  );
}

/** The oldest of the ended pods beyond `threshold`; none when it is zero or less. */
export function surplusTerminated(pods: readonly Pod[], threshold: number): Pod[] {
  if (threshold <= 0) return [];
  const ended = pods.filter(isTerminated);
  if (ended.length <= threshold) return [];
  const age = (pod: Pod) => `${pod.metadata.creationTimestamp ?? ''} ${pod.metadata.name ?? ''}`;
  return ended.sort((a, b) => (age(a) < age(b) ? -1 : 1)).slice(0, ended.length - threshold);
}

/** True for pods that are being deleted and were never bound to a node: no node agent will finish that. */
export function isUnscheduledTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined && (pod.spec.nodeName ?? '') === '';
}
