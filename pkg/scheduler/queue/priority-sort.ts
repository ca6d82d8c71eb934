import type { Turn } from '#scheduler/framework/plugin.js';

/** The most important pod first; of equals the one that has waited longest. */
export function byPriority(a: Turn, b: Turn): boolean {
  return a.info.priority !== b.info.priority ? a.info.priority > b.info.priority : a.since < b.since;
}
