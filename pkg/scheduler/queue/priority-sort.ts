import type { SortablePod } from '#scheduler/framework/plugin.js';

/** Higher priority first; among equals the pod that has waited longest. */
export function byPriority(a: SortablePod, b: SortablePod): boolean {
  return a.info.priority !== b.info.priority ? a.info.priority > b.info.priority : a.since < b.since;
}
